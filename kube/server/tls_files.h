// SPDX-License-Identifier: Apache-2.0
// TlsFiles: a server's certificate and key in files that change under it, as the kubelet changes
// those of a Secret volume (by exchanging a symbolic link). New connections use the newest pair
// that was good; a broken one changes nothing.
#pragma once

#include <sys/types.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "kube/base/async.h"
#include "kube/base/error.h"

namespace kube {

class TlsFiles {
 public:
  TlsFiles(std::string certificate_file, std::string key_file);

  // Reads the files if they changed since the last call. True if a new pair is in use; the error of
  // a broken pair is told once and names the file, never what is in it.
  Result<bool> Refresh();

  // The newest good pair; null before the first.
  std::shared_ptr<asio::ssl::context> context() const { return context_; }

 private:
  // What tells that a file changed: device, inode, size, seconds and nanoseconds of its last
  // change.
  using Stamp = std::tuple<dev_t, ino_t, off_t, int64_t, int64_t>;
  static Stamp StampOf(const std::string& file);

  std::string certificate_file_;
  std::string key_file_;
  Stamp certificate_stamp_{};
  Stamp key_stamp_{};
  // What the context was made of, to know a file that was only touched.
  std::string certificate_;
  std::string key_;
  bool tried_ = false;
  std::shared_ptr<asio::ssl::context> context_;
};

}  // namespace kube

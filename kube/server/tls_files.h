// SPDX-License-Identifier: Apache-2.0
// TlsFiles: a server's certificate and key, reloaded when their files change, as the kubelet
// changes the files of a Secret volume (it replaces a symbolic link). New connections use the
// newest valid pair; an invalid pair is ignored.
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

  // Reads the files if they changed since the last call. True if a new pair is in use. The error of
  // an invalid pair is returned once; it names the file and does not quote its contents.
  Result<bool> Refresh();

  // The newest valid pair; null before the first.
  std::shared_ptr<asio::ssl::context> context() const { return context_; }
  // The certificate chain of context(), as PEM.
  const std::string& certificate_pem() const { return certificate_; }

 private:
  // Detects changes of a file: device, inode, size, seconds and nanoseconds of its ctime.
  using Stamp = std::tuple<dev_t, ino_t, off_t, int64_t, int64_t>;
  static Stamp StampOf(const std::string& file);

  std::string certificate_file_;
  std::string key_file_;
  Stamp certificate_stamp_{};
  Stamp key_stamp_{};
  // The context's certificate and key: a file that was only touched causes no reload.
  std::string certificate_;
  std::string key_;
  bool tried_ = false;
  std::shared_ptr<asio::ssl::context> context_;
};

}  // namespace kube

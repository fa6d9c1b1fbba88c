// SPDX-License-Identifier: Apache-2.0
// SettingFile: a word in a file that may change, as the kubelet changes the files of a ConfigMap.
// The file is untrusted: callers ignore words that they do not know.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "kube/base/clock.h"

namespace kube {

class SettingFile {
 public:
  static constexpr std::chrono::seconds kReadEvery{5};

  explicit SettingFile(std::string path) : path_(std::move(path)) {}

  // The first 64 bytes of the file without the spaces around them, if they have changed since the
  // last call. A file that does not exist has none, as before the first call.
  std::optional<std::string> Changed();

  // Reads the file at once and then every kReadEvery until cancelled, and calls `apply` with each
  // change. Ends at once without a path.
  static boost::asio::awaitable<void> Follow(Clock& clock, std::string path,
                                             std::function<void(const std::string&)> apply);

 private:
  std::string path_;
  std::string text_;
};

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// How much the process logs: Normal, Debug, Trace or TraceAll. It may change at any time, by a call
// or by a file: --log-verbosity-file is read again when it changes, as the kubelet changes the
// files of a ConfigMap. The file is untrusted: other text than one of these words is ignored.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/base/setting_file.h"

namespace kube {

// Sets it to one of the words; any other text sets that of --log-verbosity, the start value.
void SetLogVerbosity(std::string_view verbosity);

// Follows --log-verbosity-file. A file that does not exist stands for the start value.
class LogVerbosityFile {
 public:
  explicit LogVerbosityFile(std::string path) : path_(path), file_(std::move(path)) {}

  // Reads the file, and sets the verbosity if the file's text has changed. An invalid text is
  // logged once.
  void Refresh();

 private:
  std::string path_;
  SettingFile file_;
};

// Sets the start value and reads the file, before the first line is logged.
void StartLogVerbosity();
// Reads the file every few seconds until cancelled; ends at once without --log-verbosity-file.
boost::asio::awaitable<void> FollowLogVerbosity(Clock& clock);

}  // namespace kube

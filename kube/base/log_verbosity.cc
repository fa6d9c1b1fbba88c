// SPDX-License-Identifier: Apache-2.0
#include "kube/base/log_verbosity.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "kube/base/async.h"

namespace {

constexpr std::array<std::string_view, 4> kVerbosities = {"Normal", "Debug", "Trace", "TraceAll"};

bool IsVerbosity(const char* flag, const std::string& value) {
  if (std::find(kVerbosities.begin(), kVerbosities.end(), value) != kVerbosities.end()) return true;
  std::fprintf(stderr, "--%s: not one of Normal, Debug, Trace, TraceAll\n", flag);
  return false;
}

}  // namespace

DEFINE_string(log_verbosity, "Normal", "How much to log: Normal, Debug, Trace or TraceAll.");
DEFINE_validator(log_verbosity, &IsVerbosity);
DEFINE_string(
    log_verbosity_file, "",
    "A file with one of these words, which replaces --log-verbosity while the file exists "
    "and is followed without a restart.");

namespace kube {
namespace {

// The level of glog; -1 for an unknown word.
int LevelOf(std::string_view verbosity) {
  auto found = std::find(kVerbosities.begin(), kVerbosities.end(), verbosity);
  return found == kVerbosities.end() ? -1 : static_cast<int>(found - kVerbosities.begin());
}

LogVerbosityFile& TheFile() {
  static LogVerbosityFile& file = *new LogVerbosityFile(FLAGS_log_verbosity_file);
  return file;
}

}  // namespace

void SetLogVerbosity(std::string_view verbosity) {
  int level = LevelOf(verbosity);
  if (level < 0) level = LevelOf(FLAGS_log_verbosity);
  if (FLAGS_v == level) return;
  FLAGS_v = level;
  LOG(INFO) << "log verbosity: " << kVerbosities[static_cast<size_t>(level)];
}

void LogVerbosityFile::Refresh() {
  std::optional<std::string> word = file_.Changed();
  if (!word) return;
  if (!word->empty() && LevelOf(*word) < 0) {
    // The text is not quoted: its author is not trusted.
    LOG(WARNING) << path_ << ": not one of Normal, Debug, Trace, TraceAll: ignored";
    return;
  }
  SetLogVerbosity(*word);
}

void StartLogVerbosity() {
  FLAGS_v = LevelOf(FLAGS_log_verbosity);
  if (!FLAGS_log_verbosity_file.empty()) TheFile().Refresh();
}

asio::awaitable<void> FollowLogVerbosity(Clock& clock) {
  co_await IgnoreCancellation();
  while (!FLAGS_log_verbosity_file.empty()) {
    Result<> slept = co_await clock.Sleep(SettingFile::kReadEvery);
    if (!slept) break;
    TheFile().Refresh();
  }
}

}  // namespace kube

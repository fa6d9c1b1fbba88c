// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/process_cost.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace e2e {
namespace {

std::string FolderOf(pid_t pid) { return "/proc/" + std::to_string(pid); }

// The 15th word of /proc/PID/stat, counted after the program's name, which may contain spaces.
std::chrono::nanoseconds SystemTime(pid_t pid) {
  std::ifstream file(FolderOf(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream words(text.substr(end_of_name + 1));
  std::string skipped;
  for (int i = 3; i < 15; ++i) words >> skipped;
  long ticks = 0;
  words >> ticks;
  return std::chrono::nanoseconds(std::chrono::seconds(1)) / sysconf(_SC_CLK_TCK) * ticks;
}

// The number after `key` at the start of a line; 0 without such a line.
long NumberIn(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::strtol(line.c_str() + key.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

kube::Result<ProcessCost> CostOf(pid_t pid) {
  ProcessCost cost;
  std::error_code ec;
  for (const auto& thread : std::filesystem::directory_iterator(FolderOf(pid) + "/task", ec)) {
    std::ifstream file(thread.path() / "schedstat");
    int64_t nanoseconds = 0;
    file >> nanoseconds;
    cost.cpu += std::chrono::nanoseconds(nanoseconds);
    cost.wakeups += NumberIn(thread.path() / "status", "voluntary_ctxt_switches:");
  }
  if (ec) return kube::Error::NotFound("process " + std::to_string(pid) + ": " + ec.message());
  cost.system = SystemTime(pid);
  std::string status = FolderOf(pid) + "/status";
  cost.rss_kb = NumberIn(status, "VmRSS:");
  cost.own_rss_kb = NumberIn(status, "RssAnon:");
  cost.peak_rss_kb = NumberIn(status, "VmHWM:");
  return cost;
}

}  // namespace e2e

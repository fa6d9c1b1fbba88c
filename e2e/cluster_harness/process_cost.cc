// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/process_cost.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace

kube::Result<ProcessCost> CostOf(pid_t pid) {
  ProcessCost cost;
  std::error_code ec;
  for (const auto& thread : std::filesystem::directory_iterator(FolderOf(pid) + "/task", ec)) {
    std::ifstream file(thread.path() / "schedstat");
    int64_t nanoseconds = 0;
    file >> nanoseconds;
    cost.cpu += std::chrono::nanoseconds(nanoseconds);
  }
  if (ec) return kube::Error::NotFound("process " + std::to_string(pid) + ": " + ec.message());
  cost.system = SystemTime(pid);
  std::ifstream status(FolderOf(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) cost.rss_kb = std::strtol(line.c_str() + 6, nullptr, 10);
    if (line.starts_with("RssAnon:")) cost.own_rss_kb = std::strtol(line.c_str() + 8, nullptr, 10);
    if (line.starts_with("VmHWM:")) cost.peak_rss_kb = std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return cost;
}

}  // namespace e2e

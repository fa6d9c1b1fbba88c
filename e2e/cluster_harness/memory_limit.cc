// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/memory_limit.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>

namespace e2e {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup/memory";

// A child of this process's cgroup, whose limits still apply.
std::string OwnFolder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t memory = line.find(":memory:");
    if (memory == std::string::npos) continue;
    std::string folder = kRoot + line.substr(memory + 8);
    if (std::filesystem::exists(folder + "/memory.limit_in_bytes")) return folder;
  }
  return kRoot;
}

}  // namespace

std::unique_ptr<MemoryLimit> MemoryLimit::Make(int64_t bytes) {
  static int number = 0;
  std::string folder =
      OwnFolder() + "/pod-placement-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  std::error_code ec;
  bool limited = std::filesystem::create_directory(folder, ec);
  if (limited) {
    std::ofstream file(folder + "/memory.limit_in_bytes");
    file << bytes << std::flush;
    limited = file.good();
    if (!limited) std::filesystem::remove(folder, ec);
  }
  return std::unique_ptr<MemoryLimit>(new MemoryLimit(limited ? folder : "", bytes));
}

MemoryLimit::~MemoryLimit() {
  std::error_code ec;
  if (!folder_.empty()) std::filesystem::remove(folder_, ec);
}

int64_t ParseMemory(const std::string& quantity) {
  int64_t number = 0;
  const char* end = quantity.data() + quantity.size();
  auto [unit, ec] = std::from_chars(quantity.data(), end, number);
  if (ec != std::errc()) return 0;
  std::string_view suffix(unit, static_cast<size_t>(end - unit));
  if (suffix == "Ki") return number << 10;
  if (suffix == "Mi") return number << 20;
  if (suffix == "Gi") return number << 30;
  return 0;
}

}  // namespace e2e

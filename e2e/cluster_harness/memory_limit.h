// SPDX-License-Identifier: Apache-2.0
// MemoryLimit: a container's limit for a process of this machine: a memory cgroup of its own where
// this user may make one (cgroup v1), else a limit of its data segment, which is stricter as it
// counts what was never touched.
//
//   auto limit = MemoryLimit::Make(64 << 20);
//   ChildProcess::Start({..., .cgroup = limit->procs_file(), .data_bytes = limit->data_bytes()});
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace e2e {

class MemoryLimit {
 public:
  static std::unique_ptr<MemoryLimit> Make(int64_t bytes);
  // The processes in it must have ended.
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  // The file to join by; "" without a cgroup.
  std::string procs_file() const { return folder_.empty() ? "" : folder_ + "/cgroup.procs"; }
  // RLIMIT_DATA; 0 with a cgroup.
  int64_t data_bytes() const { return folder_.empty() ? bytes_ : 0; }

 private:
  MemoryLimit(std::string folder, int64_t bytes) : folder_(std::move(folder)), bytes_(bytes) {}

  std::string folder_;
  int64_t bytes_;
};

// "64Mi" -> 67108864; 0 for what is no number of Ki, Mi or Gi.
int64_t ParseMemory(const std::string& quantity);

}  // namespace e2e

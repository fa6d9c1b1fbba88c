// SPDX-License-Identifier: Apache-2.0
// MemoryLimit: the memory limit of a container, for a process of this machine: a memory cgroup (v1)
// if this user may create one, else a limit of the data segment, which is stricter because it
// includes memory that was never used.
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
  // All processes in the cgroup must have ended.
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  // The file for ProcessSpec::cgroup; "" without a cgroup.
  std::string procs_file() const { return folder_.empty() ? "" : folder_ + "/cgroup.procs"; }
  // RLIMIT_DATA; 0 with a cgroup.
  int64_t data_bytes() const { return folder_.empty() ? bytes_ : 0; }

 private:
  MemoryLimit(std::string folder, int64_t bytes) : folder_(std::move(folder)), bytes_(bytes) {}

  std::string folder_;
  int64_t bytes_;
};

// "64Mi" -> 67108864; 0 unless the unit is Ki, Mi or Gi.
int64_t ParseMemory(const std::string& quantity);

}  // namespace e2e

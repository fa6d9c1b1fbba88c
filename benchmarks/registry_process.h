// SPDX-License-Identifier: Apache-2.0
// RegistryProcess: a registry with many images that answers late, as a process of its own: this
// program again, with the flag --serve_registry.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "kube/base/error.h"

namespace benchmarks {

// How many images each registry has.
inline constexpr int kImagesOfRegistry = 2000;

class RegistryProcess {
 public:
  static kube::Result<std::unique_ptr<RegistryProcess>> Start(std::chrono::milliseconds latency);
  ~RegistryProcess();

  // "127.0.0.1:PORT", without TLS.
  const std::string& host() const { return host_; }
  // A multi-architecture image; `number` is less than kImagesOfRegistry.
  std::string Image(int number) const;

 private:
  RegistryProcess(pid_t pid, int stop, std::string host)
      : pid_(pid), stop_(stop), host_(std::move(host)) {}

  pid_t pid_;
  int stop_;  // the registry ends when this is closed
  std::string host_;
};

// To be called by main() after it has parsed the flags. In a process that RegistryProcess started:
// serves until the other process ends, and returns true.
bool ServedAsRegistry();

}  // namespace benchmarks

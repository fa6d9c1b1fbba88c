// SPDX-License-Identifier: Apache-2.0
// WaitingSummary: many waiting pods, by what they wait for. Keeps no pod: their owners choose how
// many there are. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "plugin/pod/cause.h"

namespace plugin {

// Pods that wait for the same reason.
struct WaitingLine {
  std::string cause;  // its name, as `why` has it
  size_t pods = 0;
  std::chrono::seconds oldest{};
  std::string example;  // a pod
};

class WaitingSummary {
 public:
  // Those that are named; the others are counted as "others".
  static constexpr size_t kMaxRegistries = 64;

  void Add(const kube::core::Pod& pod, const Cause& cause, kube::WallTime now);

  // Most pods first.
  std::vector<WaitingLine> Lines() const;
  // By registry: the pods that wait for it.
  const std::map<std::string, size_t>& registries() const { return registries_; }
  size_t pods() const { return pods_; }

 private:
  std::map<std::string, WaitingLine> lines_;  // by cause
  std::map<std::string, size_t> registries_;
  size_t pods_ = 0;
};

// The registry that an untrusted error of an inspection names; "" for none.
std::string RegistryIn(std::string_view inspection_error);

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
// Amount: of CPU and memory.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace plugin {

struct Amount {
  double cpu = 0;     // CPUs
  double memory = 0;  // bytes

  Amount& operator+=(const Amount& other) {
    cpu += other.cpu;
    memory += other.memory;
    return *this;
  }
  bool operator==(const Amount&) const = default;
};

// What the scheduler reserves for an encoded core/v1 Pod (KEP-753: containers and sidecars
// together, or the largest init container with the sidecars before it; and the overhead). Errors:
// kInvalid.
kube::Result<Amount> RequestsOf(std::string_view pod);
// What an encoded core/v1 Node has for pods. Errors: kInvalid.
kube::Result<Amount> AllocatableOf(std::string_view node);

std::string DescribeCpu(double cpu);        // "0.25", "12.5"
std::string DescribeMemory(double memory);  // in GiB: "0.5", "12.0"

}  // namespace plugin

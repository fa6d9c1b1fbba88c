// SPDX-License-Identifier: Apache-2.0
// What scores read of a node and of a pod.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/types/unstructured.h"

namespace fleet {

// The architectures that have scores: all GOARCH names that Kubernetes has been built for.
inline constexpr std::array<std::string_view, 9> kScoredArchitectures = {
    "386", "amd64", "arm", "arm64", "loong64", "mips64le", "ppc64le", "riscv64", "s390x"};

// A bit for each of kScoredArchitectures.
using ArchitectureMask = uint16_t;

// The index in kScoredArchitectures; -1 of another name.
int ArchitectureIndex(std::string_view name);

// From 0 to 10^12 each, which no machine has; sums of all nodes and pods fit.
struct Resources {
  int64_t milli_cpu = 0;
  int64_t kib = 0;  // of memory

  bool operator==(const Resources&) const = default;
};

struct NodeUsage {
  int architecture = -1;  // index of the label kubernetes.io/arch
  bool usable = false;    // Ready, not cordoned, and not being deleted
  Resources allocatable;  // rounded down

  static NodeUsage FromJson(const kube::Json& node);
};

struct PodUsage {
  std::string node;  // "" before the pod is scheduled, and after it ended: then it requests nothing
  // What the scheduler counts for the pod, rounded up: the containers and sidecars together, or the
  // largest init container with the sidecars before it; the pod's own requests instead, if it has
  // any; and the overhead.
  Resources requests;
  // What the pod is a replica of: "ns/Deployment/web"; itself ("ns/Pod/web") without a controller.
  // "" of a pod that does not show where the workload runs: it ended, still has a scheduling gate
  // (its labels come with the gate's removal), or belongs to its node (a static pod).
  std::string workload;
  // The architectures of its labels "multiarch.openshift.io/ARCHITECTURE".
  ArchitectureMask architectures = 0;

  static PodUsage FromJson(const kube::Json& pod);
};

}  // namespace fleet

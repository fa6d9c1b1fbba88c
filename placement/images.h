// SPDX-License-Identifier: Apache-2.0
// What has to be inspected for a pod: its images, and the operating system that they run on.
#pragma once

#include <string>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

struct ContainerImage {
  std::string reference;     // as the pod says it, untrusted: "registry.example/app:1.2"
  bool always_pull = false;  // imagePullPolicy Always for one of its containers: what a tag meant
                             // before doesn't count

  auto operator<=>(const ContainerImage&) const = default;
};

// The images of all containers and init containers, each once, sorted. Containers without an image
// are left out.
std::vector<ContainerImage> ImagesOf(const kube::core::Pod& pod);

// The operating system that the pod runs on: spec.os.name, else the kubernetes.io/os node selector,
// else "linux".
std::string OperatingSystemOf(const kube::core::Pod& pod);

}  // namespace placement

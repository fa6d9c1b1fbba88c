// SPDX-License-Identifier: Apache-2.0
// The input of an inspection: the images of a pod and the operating system that they run on.
#pragma once

#include <string>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

struct ContainerImage {
  std::string reference;  // of the pod, untrusted: "registry.example/app:1.2"
  // A container with this image has imagePullPolicy Always: a tag must be resolved again.
  bool always_pull = false;

  auto operator<=>(const ContainerImage&) const = default;
};

// The images of all containers and init containers, each once, sorted. Containers without an image
// are skipped.
std::vector<ContainerImage> ImagesOf(const kube::core::Pod& pod);

// The operating system of the pod's nodes: spec.os.name, else the kubernetes.io/os node selector,
// else "linux".
std::string OperatingSystemOf(const kube::core::Pod& pod);

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// The images of a pod, which are inspected.
#pragma once

#include <string>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

struct ContainerImage {
  std::string reference;  // of the pod, untrusted: "registry.example/app:1.2"
  // A container or volume with this image has the pull policy Always: a tag must be resolved again.
  bool always_pull = false;
  // All of them have the pull policy Never: the image is only on nodes.
  bool never_pull = false;
  // No container runs it; it is mounted as a volume. A node can mount a single manifest whatever
  // its platform is: only an index restricts the nodes.
  bool only_volume = false;

  auto operator<=>(const ContainerImage&) const = default;
};

// The images of all containers, init containers and image volumes, each once, sorted. Those without
// a reference are skipped.
std::vector<ContainerImage> ImagesOf(const kube::core::Pod& pod);

// The names in the pod's imagePullSecrets, each once, without invalid ones; at most 32.
std::vector<std::string> PullSecretsOf(const kube::core::Pod& pod);

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// ContainerOf(): in which container of a pod an execve() failed, by the names of the cgroups around
// the process. These are made by the kubelet and the container runtime; a container with the right
// to make cgroups of its own can only make them inside its own. Pure.
#pragma once

#include <optional>
#include <string>

#include "exec-format/monitor/kernel/exec_error.h"

namespace exec_format {

struct Container {
  // As in the status of a pod: "containerd://0123…". The runtime is "cri" where the cgroup's name
  // does not say which it is.
  std::string id;
  std::string pod_uid;
};

// The outermost container, which is one that the kubelet of this node has started. nullopt: the
// process is in none, or there are so many cgroups that an outer one may be missing.
// Source: containers/naming of kubelet's cgroup manager (pkg/kubelet/cm/cgroup_manager_linux.go)
// and of containerd, CRI-O and cri-dockerd.
std::optional<Container> ContainerOf(const ExecError& error);

}  // namespace exec_format

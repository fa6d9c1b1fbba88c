// SPDX-License-Identifier: Apache-2.0
// The resources of the kinds with pod templates (workloads.proto).
#pragma once

#include "kube/types/resource.h"
#include "kube/types/workloads.pb.h"

template <>
struct kube::ResourceOf<kube::workloads::Job> {
  static constexpr Resource value{"batch", "v1", "jobs", "Job"};
};
template <>
struct kube::ResourceOf<kube::workloads::DaemonSet> {
  static constexpr Resource value{"apps", "v1", "daemonsets", "DaemonSet"};
};

// SPDX-License-Identifier: Apache-2.0
// Kinds of workloads that only the plugin reads.
#pragma once

#include "kube/types/resource.h"

namespace plugin {

inline constexpr kube::Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};
inline constexpr kube::Resource kJobs{"batch", "v1", "jobs", "Job"};
inline constexpr kube::Resource kCronJobs{"batch", "v1", "cronjobs", "CronJob"};

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "e2e/cluster_harness/process_cluster.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

// Errors: those of the call, with kind and name.
kube::Result<> CreateObject(ProcessCluster& cluster, const kube::Resource& resource,
                            kube::Json object);

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// CreateMany: creates many objects of one kind, by several callers at a time.
#pragma once

#include <chrono>
#include <functional>

#include "e2e/cluster_harness/process_cluster.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

// Creates what `make` returns for 0 .. count-1. Errors: the first of the calls;
// kDeadlineExceeded.
kube::Result<> CreateMany(e2e::ProcessCluster& cluster, kube::Resource resource, int count,
                          const std::function<kube::Json(int number)>& make,
                          std::chrono::seconds timeout);

}  // namespace benchmarks

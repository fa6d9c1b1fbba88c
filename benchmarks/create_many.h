// SPDX-License-Identifier: Apache-2.0
// CreateMany: creates many objects of one kind, by several callers at a time. CallMany: the same
// for any calls.
#pragma once

#include <chrono>
#include <functional>

#include "e2e/framework/cluster.h"
#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

// Makes the calls `call(0)` .. `call(count - 1)`. Errors: the first of the calls;
// kDeadlineExceeded.
kube::Result<> CallMany(e2e::Cluster& cluster, int count,
                        const std::function<kube::Async<>(int number)>& call,
                        std::chrono::seconds timeout);

// Creates what `make` returns for 0 .. count-1. Errors: those of CallMany().
kube::Result<> CreateMany(e2e::Cluster& cluster, kube::Resource resource, int count,
                          const std::function<kube::Json(int number)>& make,
                          std::chrono::seconds timeout);

}  // namespace benchmarks

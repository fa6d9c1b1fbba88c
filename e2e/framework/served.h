// SPDX-License-Identifier: Apache-2.0
// What the API server of the tests serves: flows that need more than the oldest supported
// Kubernetes has are skipped there, and say so.
//
//   std::string missing = NotServed(cluster(), kube::kMutatingAdmissionPolicies);
//   if (!missing.empty()) GTEST_SKIP() << missing;
#pragma once

#include <string>

#include "e2e/framework/cluster.h"
#include "kube/types/resource.h"

namespace e2e {

// "" if the API server serves the resource, by its discovery; otherwise a sentence that says so,
// with its version. An error of the API server is a failure of the test, and "".
std::string NotServed(Cluster& cluster, const kube::Resource& resource);

// 36 for Kubernetes 1.36. An error of the API server is a failure of the test, and 0.
int MinorVersion(Cluster& cluster);

}  // namespace e2e

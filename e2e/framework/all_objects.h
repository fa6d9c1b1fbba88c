// SPDX-License-Identifier: Apache-2.0
// AllObjects: what the API server stores, of every kind that it serves.
#pragma once

#include <map>
#include <string>

#include "e2e/framework/cluster.h"
#include "kube/types/unstructured.h"

namespace e2e {

// Objects by "Deployment NAMESPACE/NAME", without the fields that every write changes
// (resourceVersion, generation, managedFields), and without the kinds that change by themselves:
// Events, Endpoints, and Leases in kube-*.
using Objects = std::map<std::string, kube::Json>;

kube::Result<Objects> AllObjects(Cluster& cluster);

// The differences between two states, one object a line; empty if they are equal.
std::string Difference(const Objects& before, const Objects& after);

}  // namespace e2e

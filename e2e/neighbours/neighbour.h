// SPDX-License-Identifier: Apache-2.0
// A neighbour: another product as a process beside the operator, and the files that it needs. What
// e2e/cluster/build-tools.sh builds is in the folder KUBEBUILDER_ASSETS.
#pragma once

#include <string>

#include "kube/base/error.h"

namespace e2e {

// The path of `name` in KUBEBUILDER_ASSETS; empty if it is not there.
std::string AssetOf(const std::string& name);

// The neighbour's log, in the folder of the test's logs.
std::string LogOf(const std::string& neighbour);

// Applies the objects in a file, as `kubectl apply --server-side` does, and waits until the API
// server has accepted the CRDs among them.
kube::Result<> ApplyCrds(const std::string& file);

}  // namespace e2e

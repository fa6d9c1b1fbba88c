// SPDX-License-Identifier: Apache-2.0
// Manifests: the objects of operator/manifests/ with the options of an installation.
#pragma once

#include <string>
#include <vector>

#include "deploy/manifests.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// As deploy::LoadManifests(). The images: "operator", "webhook", "shard",
// "cluster-controller", "console", "exec-format-monitor".
kube::Result<std::vector<kube::Unstructured>> LoadManifests(const deploy::ManifestOptions& options);

// The names of all components in operator/manifests/components/, sorted.
std::vector<std::string> ShippedComponents();

}  // namespace operator_

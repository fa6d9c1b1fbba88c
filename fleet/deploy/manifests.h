// SPDX-License-Identifier: Apache-2.0
// The objects of fleet/manifests/, with the flags of the tools that install: --registry, --with,
// --namespace and --print.
#pragma once

#include <string>
#include <vector>

#include "deploy/manifests.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The CRDs of OCM and of the fleet: a component of the hub's manifests.
inline constexpr char kCrdsComponent[] = "crds";
// The Deployment of the hub.
inline constexpr char kHubDeployment[] = "multiarch-fleet-hub";
inline constexpr char kHubNamespace[] = "multiarch-fleet";

deploy::ManifestSet HubManifests();
deploy::ManifestSet AgentManifests();

// The objects of `set` with the image of the program in `package` ("fleet/hub"), with `components`
// and those of --with; all nodes' architectures if the image has them all.
kube::Result<std::vector<kube::Unstructured>> ObjectsToInstall(const deploy::ManifestSet& set,
                                                               const std::string& package,
                                                               std::vector<std::string> components);

// The objects of `set` with all its components but `except`, so users need not remember which ones
// were installed.
kube::Result<std::vector<kube::Unstructured>> ObjectsToDelete(const deploy::ManifestSet& set,
                                                              const std::string& except);

// --print.
bool OnlyPrint();
// --wait.
bool Waits();

}  // namespace fleet

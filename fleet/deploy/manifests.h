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
// The CRD ImageFacts, which the component kImageFactsComponent needs. An operator beside the hub
// has it too.
inline constexpr char kImageFactsComponent[] = "image-facts";
inline constexpr char kImageFactsCrdComponent[] = "image-facts-crd";
// The Deployment of the hub.
inline constexpr char kHubDeployment[] = "multiarch-fleet-hub";
inline constexpr char kHubNamespace[] = "multiarch-fleet";

deploy::ManifestSet HubManifests();
deploy::ManifestSet AgentManifests();

// The objects of `set` with the image of the program in `package` ("fleet/hub"), with `components`
// those of --with, and what these need; all nodes' architectures if the image has them all.
kube::Result<std::vector<kube::Unstructured>> ObjectsToInstall(const deploy::ManifestSet& set,
                                                               const std::string& package,
                                                               std::vector<std::string> components);

// The objects of `set` with all its components, so users need not remember which ones were
// installed. `crds`: also the CRDs, but not ImageFacts, which an operator beside the hub needs.
kube::Result<std::vector<kube::Unstructured>> ObjectsToDelete(const deploy::ManifestSet& set,
                                                              bool crds);

// --print.
bool OnlyPrint();
// --wait.
bool Waits();

}  // namespace fleet

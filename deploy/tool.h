// SPDX-License-Identifier: Apache-2.0
// What the deploy tools share: the client, the references of the images that were built, and
// --print.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/app.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/client/client_config.h"
#include "kube/types/unstructured.h"

namespace deploy {

// What `make images` builds, and the component of the manifests for it.
inline constexpr char kAllArchitectures[] = "amd64,arm64,ppc64le,s390x";
inline constexpr char kAllArchitecturesComponent[] = "all-architectures";

// The file that kubectl would use: `flag`, $KUBECONFIG, ~/.kube/config.
std::string KubeconfigPath(const std::string& flag);

// A client of the cluster for a person's tool.
kube::Result<std::unique_ptr<kube::Client>> NewToolClient(kube::App& app,
                                                          kube::ClientConfig config);

struct BuiltImages {
  // Image references by the last part of their names, as ManifestOptions::images.
  std::map<std::string, std::string> images;
  // Whether each was built for kAllArchitectures.
  bool all_architectures = true;
};

// The images of the programs of `packages`, as //operator:push and //fleet:push copy them to
// `registry`; empty: as they are loaded into nodes. Errors: those of ReadImageReference().
kube::Result<BuiltImages> FindImages(const std::vector<std::string>& packages,
                                     const std::string& registry);

// Adds `component` unless it is there.
void AddComponent(const std::string& component, std::vector<std::string>& components);

// Prints `objects` as a List in JSON for `kubectl apply`.
void Print(const std::vector<kube::Unstructured>& objects);

}  // namespace deploy

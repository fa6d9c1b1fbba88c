// SPDX-License-Identifier: Apache-2.0
// Manifests: the objects of rendered manifests with the options of an installation, in the order in
// which they are applied.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace deploy {

// Manifests of one product.
struct ManifestSet {
  // Rendered by kustomization.py: "operator/manifests/manifests.json".
  std::string file;
  // The namespace that the files name.
  std::string ns;
};

struct ManifestOptions {
  // The namespace of the programs; empty: that of the files.
  std::string ns;
  // The images, by the last part of their names: "operator", "fleet-hub". One that is not named
  // stays that of the manifests, without a registry.
  std::map<std::string, std::string> images;
  // Names of shipped components, or absolute paths of other ones.
  std::vector<std::string> components;
};

// The objects of the base and of `options.components`. Every text that is equal to the namespace or
// to an image of the manifests is replaced; descriptions that only contain it are not. Errors:
// kNotFound for a missing file or an unknown component; kInvalid for a component that cannot be
// rendered, for a patch that cannot be applied, and for one without an object. Runs Python for
// components that are not shipped.
kube::Result<std::vector<kube::Unstructured>> LoadManifests(const ManifestSet& set,
                                                            const ManifestOptions& options);

// The names of all components, sorted.
std::vector<std::string> ShippedComponents(const ManifestSet& set);

// The resource of an object of a manifest; kInvalid for kinds that no manifest uses.
kube::Result<kube::Resource> ResourceOfObject(const kube::Unstructured& object);

// "Deployment openshift-multiarch-tuning-operator/multiarch-tuning-operator"
std::string Describe(const kube::Unstructured& object);

// The content of the .ref file that bazel/images/oci_image.py writes with an image.
struct ImageReference {
  std::string name;    // "pod-placement/shard"
  std::string tag;     // 12 hexadecimal digits of the digest
  std::string digest;  // "sha256:..."
  // Comma-separated and sorted; four after `make images`.
  std::string architectures;
};
kube::Result<ImageReference> ReadImageReference(const std::string& file);

}  // namespace deploy

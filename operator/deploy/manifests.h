// SPDX-License-Identifier: Apache-2.0
// Manifests: the objects of operator/manifests/ with the options of an installation, in the order
// in which they are applied.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct ManifestOptions {
  // Of the operator and its operands.
  std::string ns{api::kDefaultOperatorNamespace};
  // The images, by program: "operator", "webhook", "shard", "cluster-controller". A program that is
  // not named keeps the image of the manifests, which is one without a registry.
  std::map<std::string, std::string> images;
  // Folders in operator/manifests/components/, or absolute paths of other components.
  std::vector<std::string> components;
};

// The objects of operator/manifests/base and of `options.components`. Every text that is equal to
// the default namespace or to an image of the manifests is replaced; descriptions that only contain
// it are not. Errors: those of AddKustomization().
kube::Result<std::vector<kube::Unstructured>> LoadManifests(const ManifestOptions& options);

// The names of all components in operator/manifests/components/, sorted.
std::vector<std::string> ShippedComponents();

// The resource of an object of a manifest; kInvalid for kinds that the manifests do not use.
kube::Result<kube::Resource> ResourceOfObject(const kube::Unstructured& object);

// "Deployment openshift-multiarch-tuning-operator/multiarch-tuning-operator"
std::string Describe(const kube::Unstructured& object);

// The content of the .ref file that bazel/oci_image.py writes with an image.
struct ImageReference {
  std::string name;    // "pod-placement/shard"
  std::string tag;     // 12 hexadecimal digits of the digest
  std::string digest;  // "sha256:..."
  // Comma-separated and sorted; four after `make images`.
  std::string architectures;
};
kube::Result<ImageReference> ReadImageReference(const std::string& file);

}  // namespace operator_

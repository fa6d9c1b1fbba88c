// SPDX-License-Identifier: Apache-2.0
// Manifests: the operator's YAML files with their variables filled in, as objects in the order in
// which they are applied.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// Replaces every ${NAME}. kInvalid names a variable that `values` has no value for.
kube::Result<std::string> Substitute(const std::string& text,
                                     const std::map<std::string, std::string>& values);

// The objects of `files`, in order. kNotFound names a file that cannot be read, kInvalid one that
// does not parse.
kube::Result<std::vector<kube::Unstructured>> LoadManifests(
    const std::vector<std::string>& files, const std::map<std::string, std::string>& values);

// Where an object of a manifest lives in the API; kInvalid for kinds that our manifests do not use.
kube::Result<kube::Resource> ResourceOfObject(const kube::Unstructured& object);

// "Deployment openshift-multiarch-tuning-operator/multiarch-tuning-operator"
std::string Describe(const kube::Unstructured& object);

// What bazel/oci_image.py writes beside an image.
struct ImageReference {
  std::string name;    // "pod-placement/shard"
  std::string tag;     // 12 hexadecimal digits of the digest
  std::string digest;  // "sha256:..."
};
kube::Result<ImageReference> ReadImageReference(const std::string& file);

}  // namespace operator_

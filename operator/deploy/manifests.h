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

// Replaces every ${NAME}. Errors: kInvalid for a variable that is not in `values`.
kube::Result<std::string> Substitute(const std::string& text,
                                     const std::map<std::string, std::string>& values);

// The objects of `files`, in order. Errors: kNotFound for a file that cannot be read, kInvalid for
// one that cannot be parsed.
kube::Result<std::vector<kube::Unstructured>> LoadManifests(
    const std::vector<std::string>& files, const std::map<std::string, std::string>& values);

// The resource of an object of a manifest; kInvalid for kinds that the manifests do not use.
kube::Result<kube::Resource> ResourceOfObject(const kube::Unstructured& object);

// "Deployment openshift-multiarch-tuning-operator/multiarch-tuning-operator"
std::string Describe(const kube::Unstructured& object);

// The content of the .ref file that bazel/oci_image.py writes with an image.
struct ImageReference {
  std::string name;    // "pod-placement/shard"
  std::string tag;     // 12 hexadecimal digits of the digest
  std::string digest;  // "sha256:..."
};
kube::Result<ImageReference> ReadImageReference(const std::string& file);

}  // namespace operator_

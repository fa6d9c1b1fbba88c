// SPDX-License-Identifier: Apache-2.0
// Kustomization: the part of kustomize's format that the manifests here use, so that the deploy
// tools and `kubectl kustomize` read the same files: `resources`, `components`, and `patches` that
// are lists of JSON patch operations. `configurations` is ignored: it says which fields kustomize's
// `images` and `namespace` change, and the deploy tools change them themselves (manifests.h). Other
// fields are errors.
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace deploy {

// Adds the resources of the Kustomization or Component in `folder` to `objects`, in the order of
// its list, and applies its patches to all of `objects`. Errors: kNotFound for a file that cannot
// be read; kInvalid, with the file, for one that cannot be parsed or used, for a patch that cannot
// be applied, and for one without an object.
kube::Result<> AddKustomization(const std::string& folder, std::vector<kube::Json>& objects);

}  // namespace deploy

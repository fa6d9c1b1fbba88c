// SPDX-License-Identifier: Apache-2.0
// SpecPatch: the JSON Patch between a pod spec and the same spec with more in it.
#pragma once

#include <string>
#include <string_view>

#include "kube/admission/json_patch.h"
#include "kube/types/unstructured.h"

namespace policy {

// Adds to `patch` what makes `before` equal to `after` in the fields that `after` has: single
// members of objects, and single items of lists that keep their length or grow. null is absent.
// `path` is where both are in the object.
void AddDifference(const kube::Json& before, const kube::Json& after, const std::string& path,
                   kube::JsonPatch& patch);

}  // namespace policy

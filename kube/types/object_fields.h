// SPDX-License-Identifier: Apache-2.0
// Fields that objects of many kinds have, in an object as JSON: finalizers, the controlling owner
// and conditions. What is absent or of a wrong type counts as absent.
//
//   if (kube::HasFinalizer(object, kMine)) patch = kube::WithoutFinalizer(object, kMine);
#pragma once

#include <string>
#include <string_view>

#include "kube/types/unstructured.h"

namespace kube {

bool HasFinalizer(const Json& object, std::string_view finalizer);

// Merge patches that add a finalizer after the others, or remove it. They have the object's
// resourceVersion, so that no finalizer is lost that was added meanwhile.
Json WithFinalizer(const Json& object, std::string_view finalizer);
Json WithoutFinalizer(const Json& object, std::string_view finalizer);

// The owner reference of the controller; nullptr if there is none.
const Json* ControllerOf(const Json& object);

// The condition of this type in the status; nullptr if there is none.
const Json* ConditionOf(const Json& object, std::string_view type);
// The status of that condition: "True", ...; "" if there is none.
std::string ConditionStatus(const Json& object, std::string_view type);

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kube/types/unstructured.h"

namespace operator_ {

// The condition of this type in the status of `object`; nullptr if there is none.
const kube::Json* ConditionOf(const kube::Json& object, std::string_view type);

}  // namespace operator_

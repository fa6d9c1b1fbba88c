// SPDX-License-Identifier: Apache-2.0
// Trim: the part of an operand's object that the operator keeps in memory. With a thousand shards
// whole objects would be most of it.
#pragma once

#include "kube/types/unstructured.h"

namespace operator_ {

// Another text whenever the object's spec, rules etc. or its labels, annotations, owners or
// finalizers were changed. Of a Deployment, a change of the status alone leaves it, and so do the
// Deployment controller's own annotations.
inline constexpr const char* kContentVersion = "contentVersion";

// What identifies the object, the labels, kContentVersion, and of a Deployment its replicas and
// status.
kube::Json TrimOperand(const kube::Json& object);

}  // namespace operator_

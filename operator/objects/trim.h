// SPDX-License-Identifier: Apache-2.0
// Trim: the part of an operand's object that the operator keeps in memory. With a thousand shards,
// whole objects would be most of its memory.
#pragma once

#include <string>

#include "kube/types/unstructured.h"

namespace operator_ {

// Differs whenever the object's spec, rules and so on, or its labels, annotations, owners or
// finalizers differ. For a Deployment, the status and the Deployment controller's annotations do
// not count.
inline constexpr const char* kContentVersion = "contentVersion";

// The hash of the fields that the operator applied (owned_fields.h).
inline constexpr const char* kOwnedHash = "ownedHash";

// Keeps the object's identity, the labels that the operator reads, kContentVersion and kOwnedHash,
// and of a Deployment its template mark (template_mark.h), replicas and status.
kube::Json TrimOperand(const kube::Json& object);

// The kOwnedHash of an object once `desired` has been applied.
std::string OwnedHashOf(const kube::Json& desired);

}  // namespace operator_

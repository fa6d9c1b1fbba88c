// SPDX-License-Identifier: Apache-2.0
// Trim: the part of an operand's object that the operator keeps in memory. With a thousand shards whole objects would
// be most of it.
#pragma once

#include "kube/types/unstructured.h"

namespace operator_ {

// What identifies the object, the labels, the hash of what was applied, and of a Deployment its replicas and status.
kube::Json TrimOperand(const kube::Json& object);

}  // namespace operator_

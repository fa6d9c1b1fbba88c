// SPDX-License-Identifier: Apache-2.0
// The other half of WireJson: the protobuf message of JSON.
#pragma once

#include <google/protobuf/message.h>

#include "kube/base/error.h"
#include "kube/testing/wire_schema.h"
#include "kube/types/unstructured.h"

namespace kube {

// Fills the empty `message`.
// Errors: kInvalid for a member whose value has another type than its field.
Result<void> JsonToWire(const WireSchema& schema, const Json& object,
                        google::protobuf::Message& message);

}  // namespace kube

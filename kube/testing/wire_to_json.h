// SPDX-License-Identifier: Apache-2.0
// Half of WireJson: the JSON of a protobuf message.
#pragma once

#include <google/protobuf/message.h>

#include "kube/base/error.h"
#include "kube/testing/wire_schema.h"
#include "kube/types/unstructured.h"

namespace kube {

// Errors: kInvalid for a time out of JSON's range, and for FieldsV1 that are no JSON.
Result<Json> WireToJson(const WireSchema& schema, const google::protobuf::Message& message);

}  // namespace kube

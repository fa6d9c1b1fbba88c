// SPDX-License-Identifier: Apache-2.0
// A pod in a review as the message that placement decides on. Include it in .cc files only.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "webhook/placement_patch.h"

namespace webhook {

// Reads the fields of kube::core::Pod that placement reads or sets. `ns`: that of the request. What
// is absent or of another type stays unset: the API server has decoded the pod before.
PodInReview PodFromJson(simdjson::dom::element object, std::string_view ns);

}  // namespace webhook

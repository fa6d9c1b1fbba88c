// SPDX-License-Identifier: Apache-2.0
// Serializes a request's header; internal to kube/http.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/http/pool.h"

namespace kube {

// Request line and header fields, including the blank line. kInvalid for a method, target or field
// that would inject another line. Leaves room for the caller to append `joined_body_bytes`.
Result<std::string> WriteRequestHeader(const HttpRequest& request, const Origin& origin,
                                       size_t joined_body_bytes);

}  // namespace kube

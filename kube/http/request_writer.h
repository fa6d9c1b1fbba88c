// SPDX-License-Identifier: Apache-2.0
// The bytes of a request's header; internal to kube/http.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/http/pool.h"

namespace kube {

// Request line and header fields, blank line included. kInvalid for what would break out of its
// line or field.
Result<std::string> WriteRequestHeader(const HttpRequest& request, const Origin& origin);

}  // namespace kube

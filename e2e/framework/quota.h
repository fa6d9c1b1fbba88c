// SPDX-License-Identifier: Apache-2.0
// The ResourceQuota of a scene's namespace.
#pragma once

#include "e2e/framework/flow.h"
#include "kube/types/unstructured.h"

namespace e2e {

inline constexpr const char* kQuotaName = "limits";

// {"pods": "0"} leaves no room for pods.
kube::Json MakeQuota(kube::Json hard);

// The API server's quota controller has seen the quota.
Condition QuotaInForce();

}  // namespace e2e

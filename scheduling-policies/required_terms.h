// SPDX-License-Identifier: Apache-2.0
// Required node affinity: its terms are ORed, the requirements of a term ANDed. Merging ANDs the
// pod's terms with the policy's.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kube/types/unstructured.h"
#include "scheduling-policies/criteria.h"

namespace policy {

// A pod's required node affinity has at most this many terms after merging.
inline constexpr size_t kMaxRequiredTerms = 256;

enum class TermsResult { kUnchanged, kChanged, kTooMany };

// Makes `terms`, a pod's nodeSelectorTerms, as strict as the policy's `required`, which has at
// least one term. A pod without terms takes the policy's. A pod's term that has all requirements of
// one of the policy's stays; every other becomes one term for each of the policy's, with the
// policy's requirements first. Terms without requirements match no node: they are dropped if
// anything changes, and a pod that has only such is unchanged. More than `limit` terms: kTooMany,
// and `terms` is unchanged.
TermsResult RequireTerms(kube::Json& terms, const std::vector<RequiredTerm>& required,
                         size_t limit);

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
// The cost of merging a policy, known before. It grows with the product of what the pod and the
// policy have, and one owner of a namespace writes both.
#pragma once

#include <cstddef>

#include "kube/types/unstructured.h"
#include "scheduling-policies/criteria.h"

namespace policy {

// The limit for all policies of a pod: up to 50 ms. Usual pods and policies need a few hundred.
inline constexpr size_t kMaxComparisons = 50'000;

// The comparisons of two requirements or two tolerations that merging `criteria` into the pod spec
// `spec` takes at most.
size_t ComparisonsFor(const kube::Json& spec, const Criteria& criteria);

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
// Canonical texts: two requirements or affinity terms of a pod mean the same if and only if their
// texts are equal.
#pragma once

#include <set>
#include <string>

#include "kube/types/unstructured.h"

namespace policy {

// Every field counts, known or not. Lists are sets; null, an empty list and empty matchLabels are
// as absent. An empty selector is not: {} selects everything, an absent one nothing.
std::string CanonicalText(const kube::Json& value);

// The CanonicalText() of each item.
std::set<std::string> TextsOf(const kube::Json& list);

}  // namespace policy

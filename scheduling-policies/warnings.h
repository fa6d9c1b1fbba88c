// SPDX-License-Identifier: Apache-2.0
// Warnings: what a policy's author should know, although the policy is valid. kubectl prints them.
#pragma once

#include <string>
#include <vector>

#include "scheduling-policies/scheduling_policy.h"

namespace policy {

// At most 20, each at most 256 characters, the API server's limit. Needs no other object: whether a
// ResourceQuota has room is not among them.
std::vector<std::string> WarningsFor(const SchedulingPolicy& policy);

// The pod affinity terms that look at pods of other namespaces ("spec.affinity.podAffinity...[0]").
// Pods with one count for the quota scope CrossNamespacePodAffinity: `namespaces` or
// namespaceSelector is set, even if they select only the pod's own namespace.
std::vector<std::string> CrossNamespaceTerms(const Criteria& criteria);

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
// Pod specs and policies in the short notation of the examples, words between spaces:
//
//   [a,b][f:n]   required node affinity: two terms; `a` is a Exists, `z:1|2` is z In [1, 2], and
//                `f:n` is the field metadata.name In [n]; [ ] is an empty term and written []
//   P9[a]        preferred node affinity of weight 9
//   k:v          node selector
//   node=n sched=s gate
//   t(k=v)       toleration; (k==v) with operator Equal, (k~30) Exists NoExecute for 30 s, where
//                the keys not-ready and unreachable are those of nodes; (k~) for ever
//   T A          required pod anti-affinity and pod affinity; T5 A5 preferred, of weight 5
//   T(all) T(1|2) T(keys)   with namespaceSelector {}, namespaces [1, 2], matchLabelKeys
//   -            nothing
//
// A policy has its name first: "C-name" of the cluster, "N-name" of namespace "shop". Both select
// everything.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "kube/types/unstructured.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {

// The scheduling fields of a pod spec, or the criteria of a policy's spec.
kube::Json SpecOf(const std::string& words);
// The whole policy as JSON, with apiVersion and kind.
kube::Json PolicyJson(const std::string& words);
SchedulingPolicy PolicyOf(const std::string& words);

// A random pod or policy in this notation that the API server accepts.
std::string RandomPod(std::mt19937& random);
std::string RandomPolicy(std::mt19937& random, const std::string& name);

// Applies a JSON Patch as the API server does; ends the process if it cannot be applied.
kube::Json Patched(const kube::Json& object, const std::string& patch);

}  // namespace policy

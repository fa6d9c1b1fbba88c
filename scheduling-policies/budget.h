// SPDX-License-Identifier: Apache-2.0
// Which policies of namespaces are applied (kube/cache/age_budget.h): the operator and each replica
// of the webhook come to the same result.
#pragma once

#include <cstddef>

#include "kube/cache/age_budget.h"
#include "kube/types/unstructured.h"

namespace policy {

// In BudgetBytes(). The compiled policies need about ten times as much memory.
inline constexpr kube::CacheBudget kBudget{
    .object = 64 * 1024, .one_namespace = 256 * 1024, .total = 4 * 1024 * 1024};
// A smaller policy counts as much: names, status and places in indexes cost memory, too.
inline constexpr size_t kMinPolicyBytes = 1024;
// No namespace has room for more: they are not created.
inline constexpr size_t kMaxNamespacePolicies = kBudget.one_namespace / kMinPolicyBytes;
// Of a kind that a process knows, whether or not they are applied. One costs the operator up to
// 4 KiB.
inline constexpr size_t kMaxPolicies = 10'000;

// What counts of a policy as stored: its spec, as CBOR, and at least kMinPolicyBytes.
size_t BudgetBytes(const kube::Json& policy);

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

#include <algorithm>

namespace policy {

size_t BudgetBytes(const kube::Json& policy) {
  const kube::Json* spec = kube::Find(policy, "spec");
  return spec == nullptr ? kMinPolicyBytes
                         : std::max(kube::PackJson(*spec).size(), kMinPolicyBytes);
}

}  // namespace policy

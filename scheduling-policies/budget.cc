// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

namespace policy {

size_t BudgetBytes(const kube::Json& policy) {
  const kube::Json* spec = kube::Find(policy, "spec");
  return spec == nullptr ? 0 : kube::PackJson(*spec).size();
}

}  // namespace policy

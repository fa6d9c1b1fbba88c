// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

TEST(BudgetTest, CountsTheSpecAlone) {
  kube::Json policy = {{"metadata", {{"name", "a"}}}, {"spec", {{"schedulerName", "s"}}}};
  size_t bytes = BudgetBytes(policy);
  EXPECT_EQ(bytes, kube::PackJson(policy["spec"]).size());
  policy["metadata"]["managedFields"] = kube::Json::array({"much"});
  policy["status"] = {{"observedGeneration", 1}};
  EXPECT_EQ(BudgetBytes(policy), bytes);
  EXPECT_EQ(BudgetBytes(kube::Json::object()), 0u);
}

}  // namespace
}  // namespace policy

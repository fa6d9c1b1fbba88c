// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

TEST(BudgetTest, CountsTheSpecAlone) {
  kube::Json policy = {{"metadata", {{"name", "a"}}},
                       {"spec", {{"schedulerName", std::string(2'000, 's')}}}};
  size_t bytes = BudgetBytes(policy);
  EXPECT_EQ(bytes, kube::PackJson(policy["spec"]).size());
  policy["metadata"]["managedFields"] = kube::Json::array({"much"});
  policy["status"] = {{"observedGeneration", 1}};
  EXPECT_EQ(BudgetBytes(policy), bytes);
}

// Name, status and places in indexes cost memory, too.
TEST(BudgetTest, APolicyWithoutSpecCounts) {
  EXPECT_EQ(BudgetBytes(kube::Json::object()), 1024u);
  EXPECT_EQ(BudgetBytes({{"spec", kube::Json::object()}}), 1024u);
}

}  // namespace
}  // namespace policy

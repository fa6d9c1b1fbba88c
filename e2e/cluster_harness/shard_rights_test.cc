// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/shard_rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "e2e/cluster_harness/rbac_audit.h"
#include "kube/testing/matchers.h"

namespace e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An audit of one shard: the operator has two rights and used one of them.
RbacAudit AuditOf(const std::string& used_verb) {
  RbacAudit audit("ops");
  Json metadata = {{"name", "multiarch-tuning-operator"}};
  Json rule = {{"apiGroups", {""}}, {"resources", {"secrets"}}, {"verbs", {"get", "list"}}};
  audit.AddRole({{"kind", "ClusterRole"}, {"metadata", metadata}, {"rules", Json::array({rule})}});
  Json subject = {
      {"kind", "ServiceAccount"}, {"namespace", "ops"}, {"name", "multiarch-tuning-operator"}};
  audit.AddBinding({{"kind", "ClusterRoleBinding"},
                    {"metadata", metadata},
                    {"roleRef", {{"kind", "ClusterRole"}, {"name", "multiarch-tuning-operator"}}},
                    {"subjects", Json::array({subject})}});
  audit.AddRequest({{"user", {{"username", "system:serviceaccount:ops:multiarch-tuning-operator"}}},
                    {"verb", used_verb},
                    {"objectRef", {{"resource", "secrets"}}}});
  return audit;
}

class ShardRightsTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  // What the process of a shard does.
  void Write(int shard, int shards, const RbacAudit& audit) {
    std::string outputs = folder_ + "/shard_" + std::to_string(shard) + "_of_" +
                          std::to_string(shards) + "/test.outputs";
    std::filesystem::create_directories(outputs);
    setenv("TEST_UNDECLARED_OUTPUTS_DIR", outputs.c_str(), 1);
    ASSERT_TRUE(WriteShardRights(audit));
  }

  std::string folder_ = testing::TempDir() + "/shards";
};

TEST_F(ShardRightsTest, TogetherTheyUseEveryRight) {
  Write(1, 2, AuditOf("get"));
  Write(2, 2, AuditOf("list"));
  auto all = ReadShardRights(folder_, 2, "ops");
  ASSERT_TRUE(all) << all.error();
  EXPECT_EQ(all->requests(), 2u);
  EXPECT_THAT(all->Unused({}), IsEmpty());
}

TEST_F(ShardRightsTest, ARightThatNoShardUsedIsFound) {
  Write(1, 2, AuditOf("get"));
  Write(2, 2, AuditOf("get"));
  auto all = ReadShardRights(folder_, 2, "ops");
  ASSERT_TRUE(all) << all.error();
  EXPECT_THAT(all->Unused({}),
              ElementsAre("multiarch-tuning-operator: list secrets, by ClusterRole "
                          "multiarch-tuning-operator"));
}

TEST_F(ShardRightsTest, AShardThatWroteNothingIsNamed) {
  Write(1, 2, AuditOf("get"));
  // A file of an earlier run, with another number of shards.
  Write(2, 3, AuditOf("list"));
  auto all = ReadShardRights(folder_, 2, "ops");
  EXPECT_THAT(all, kube::FailsWith(kube::Code::kNotFound, HasSubstr("shard_2_of_2")));
}

}  // namespace
}  // namespace e2e

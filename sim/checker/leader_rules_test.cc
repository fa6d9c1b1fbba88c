// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/leader_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class LeaderRulesTest : public testing::Test {
 protected:
  uint64_t Commit(const std::string& user, const std::string& group, const std::string& plural,
                  const kube::ObjectKey& key, Json after = Json::object()) {
    checker::Commit commit{.version = ++version_,
                           .group = group,
                           .plural = plural,
                           .key = key,
                           .after = after.is_null() ? nullptr : Share(std::move(after)),
                           .user = user,
                           .verb = "update",
                           .at = now_};
    rules_.Add(commit, WriterOf(user, facts_));
    return version_;
  }
  void SetHolder(const std::string& user, const std::string& lease, const std::string& holder) {
    Commit(user, "coordination.k8s.io", "leases", {facts_.operator_namespace, lease},
           {{"spec", {{"holderIdentity", holder}}}});
  }
  // A process writes an object.
  void Write(const std::string& process, const std::string& user, const std::string& plural) {
    rules_.Wrote(Commit(user, "", plural, {"shop", "web"}), process, found_);
  }

  Facts facts_;
  LeaderRules rules_{facts_};
  Violations found_;
  uint64_t version_ = 0;
  Time now_ = 10min;
};

TEST_F(LeaderRulesTest, TheHolderWrites) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  now_ += 1h;
  Write("c-1", kController, "pods");
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(LeaderRulesTest, AnotherControllerDoesNot) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  SetHolder(kController, "pod-placement-controller", "c-2");
  now_ += 11s;
  Write("c-1", kController, "pods");
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_EQ(found_[0].rule, "leaders");
  EXPECT_EQ(found_[0].text, "c-1 wrote it, and c-2 has the Lease");
}

TEST_F(LeaderRulesTest, ARequestThatWasSentInTimeMayBeStoredLate) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  now_ += 1h;
  SetHolder(kController, "pod-placement-controller", "c-2");
  now_ += 9s;
  SetHolder(kController, "pod-placement-controller", "c-2");  // a renewal
  Write("c-1", kController, "pods");
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(LeaderRulesTest, TheLeaseOfTheOperatorIsAnother) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  SetHolder(kOperatorUser, "multiarch-tuning-operator", "o-1");
  now_ += 1h;
  Write("o-1", kOperatorUser, "services");
  EXPECT_THAT(found_, IsEmpty());
  Write("o-2", kOperatorUser, "services");
  EXPECT_THAT(found_, SizeIs(1));
}

TEST_F(LeaderRulesTest, WithoutAHolderNothingIsSaid) {
  Write("c-1", kController, "pods");
  SetHolder(kController, "pod-placement-controller", "c-1");
  SetHolder(kController, "pod-placement-controller", "");
  now_ += 1h;
  Write("c-2", kController, "pods");
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(LeaderRulesTest, WhatEveryReplicaWrites) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  SetHolder(kOperatorUser, "multiarch-tuning-operator", "o-1");
  now_ += 1h;
  Write("c-2", kController, "events");
  Write("o-2", kOperatorUser, "secrets");
  Write("s-2", kShardOfShop, "pods");
  Write("x", kUser, "pods");
  EXPECT_THAT(found_, IsEmpty());
  Commit(kUser, "", "namespaces", {"", facts_.operator_namespace},
         {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}});
  Write("o-2", kOperatorUser, "pods");
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(LeaderRulesTest, ACommitIsOfOneProcess) {
  SetHolder(kController, "pod-placement-controller", "c-1");
  now_ += 1h;
  const uint64_t version = Commit(kController, "", "pods", {"shop", "web"});
  rules_.Wrote(version, "c-1", found_);
  // A write that changes nothing has the version that it found.
  rules_.Wrote(version, "c-2", found_);
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace sim::checker

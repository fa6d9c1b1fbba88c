// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/replica.h"

#include <gtest/gtest.h>

#include <limits>

namespace policy {
namespace {

using kube::coordination::Lease;

TEST(ReplicaTest, RoundTrip) {
  Lease lease;
  EXPECT_EQ(SeenBy(lease), SeenVersions());
  SeenVersions seen{.policies = 17, .cluster_policies = std::numeric_limits<uint64_t>::max()};
  WriteReplica(seen, lease);
  EXPECT_EQ(SeenBy(lease), seen);
}

// The operator and the webhook may be of different releases
// (docs/decisions/releases-together.md).
TEST(ReplicaTest, TheFormatIsThatOfEarlierReleases) {
  Lease lease;
  WriteReplica({.policies = 17, .cluster_policies = 4}, lease);
  auto annotations = lease.metadata().annotations();
  EXPECT_EQ(annotations["multiarch.openshift.io/seen-podschedulingpolicies"], "17");
  EXPECT_EQ(annotations["multiarch.openshift.io/seen-clusterpodschedulingpolicies"], "4");
  EXPECT_EQ(lease.metadata().labels().at("multiarch.openshift.io/operand"), "policy-webhook");
  EXPECT_EQ(ReplicaSelector(), "multiarch.openshift.io/operand=policy-webhook");
}

TEST(ReplicaTest, WritingKeepsWhatElseIsOnTheLease) {
  Lease lease;
  (*lease.mutable_metadata()->mutable_annotations())["example.com/note"] = "1";
  lease.mutable_spec()->set_holder_identity("a");
  WriteReplica({}, lease);
  EXPECT_EQ(lease.metadata().annotations().at("example.com/note"), "1");
  EXPECT_EQ(lease.spec().holder_identity(), "a");
}

TEST(ReplicaTest, WhatIsNoVersionCountsAsNone) {
  EXPECT_EQ(VersionNumber("0"), 0u);
  EXPECT_EQ(VersionNumber("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x10", "1a", "1.0", "18446744073709551616",
                           "99999999999999999999999999"}) {
    EXPECT_EQ(VersionNumber(text), 0u) << text;
  }
}

}  // namespace
}  // namespace policy

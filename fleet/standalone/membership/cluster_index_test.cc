// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_index.h"

#include <gtest/gtest.h>

#include <string>

#include "fleet/api/managed_cluster_status.h"
#include "fleet/testing/make_object.h"

namespace fleet {
namespace {

using kube::Json;

Json Cluster(const std::string& name, const std::string& set, const std::string& available = "") {
  MakeObject cluster = MakeManagedCluster(name).Label(kClusterSetLabel, set);
  if (!available.empty()) cluster.Condition(kClusterAvailable, available);
  return cluster;
}

ManagedClusterSet Set(const std::string& name, std::string_view spec = "{}") {
  return MakeClusterSet(name, spec).As<ManagedClusterSet>();
}

TEST(ClusterIndex, CountsTheMembersOfSets) {
  ClusterIndex index;
  EXPECT_TRUE(index.Put(Cluster("c1", "default")).members);
  EXPECT_TRUE(index.Put(Cluster("c2", "default")).members);
  EXPECT_TRUE(index.Put(Cluster("c3", "east")).members);
  EXPECT_FALSE(index.Put(Cluster("c3", "east", "True")).members);
  EXPECT_EQ(index.CountMembers(Set("default")), 2u);
  EXPECT_EQ(index.CountMembers(Set("west")), 0u);
  EXPECT_EQ(index.CountMembers(Set("global", kSelectsAll)), 3u);

  EXPECT_TRUE(index.Put(Cluster("c2", "east")).members);
  EXPECT_EQ(index.CountMembers(Set("default")), 1u);
  EXPECT_TRUE(index.Remove("c1").members);
  EXPECT_FALSE(index.Remove("c1").members);
  EXPECT_EQ(index.CountMembers(Set("default")), 0u);
  Json deleting = Cluster("c3", "east");
  deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(index.Put(deleting).members);
  EXPECT_EQ(index.CountMembers(Set("global", kSelectsAll)), 1u);
}

TEST(ClusterIndex, ToldWhenAnAgentReports) {
  ClusterIndex index;
  EXPECT_FALSE(index.Put(Cluster("c1", "s", "True")).reported) << "it may be an old report";
  EXPECT_FALSE(index.Put(Cluster("c1", "s", "True")).reported);
  EXPECT_TRUE(index.Put(Cluster("c1", "s", "False")).reported);
  EXPECT_FALSE(index.Put(Cluster("c1", "s", "Unknown")).reported) << "that was the hub";
  EXPECT_TRUE(index.Put(Cluster("c1", "s", "True")).reported);
  EXPECT_FALSE(index.Put(Cluster("c1", "s")).reported);
}

TEST(ClusterIndex, CountsWhatIsAvailable) {
  ClusterIndex index;
  index.Put(Cluster("c1", "s", "True"));
  index.Put(Cluster("c2", "s", "False"));
  index.Put(Cluster("c3", "s", "Unknown"));
  index.Put(Cluster("c4", "s"));
  EXPECT_EQ(index.CountAvailable().available, 1u);
  EXPECT_EQ(index.CountAvailable().unavailable, 1u);
  EXPECT_EQ(index.CountAvailable().unreachable, 2u);
}

}  // namespace
}  // namespace fleet

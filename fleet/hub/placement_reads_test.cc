// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_reads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using namespace std::chrono_literals;

PlacementReads ReadsOf(const std::string& spec) {
  Json json = {{"metadata", {{"name", "p"}}}, {"spec", kube::MustParseJson(spec)}};
  Placement placement = Placement::FromJson(json).value();
  EXPECT_TRUE(placement.problems.empty()) << spec << Describe(placement.problems);
  return PlacementReads(placement.spec);
}

ManagedCluster ClusterOf(Json json) {
  json["metadata"]["name"] = "c1";
  return ManagedCluster::FromJson(json).value();
}

TEST(PlacementReads, NoticesChangesOfClusters) {
  const Json before = kube::MustParseJson(R"({
    "metadata": {"labels": {"zone": "a", "other": "1"}},
    "spec": {"taints": [{"key": "gpu", "value": "true", "effect": "NoSelect"}]},
    "status": {
      "clusterClaims": [{"name": "platform", "value": "aws"}, {"name": "id", "value": "7"}],
      "allocatable": {"cpu": "8", "memory": "1Gi"}, "capacity": {"cpu": "8", "memory": "1Gi"}}})");
  // Each change, and whether these Placements notice it.
  const std::string kAll = "{}";
  const std::string kByLabel =
      R"({"predicates": [{"requiredClusterSelector": {"labelSelector":
          {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}}]})";
  const std::string kByClaim =
      R"({"predicates": [{"requiredClusterSelector": {"claimSelector":
          {"matchExpressions": [{"key": "platform", "operator": "Exists"}]}}}]})";
  const std::string kGroups =
      R"({"decisionStrategy": {"groupStrategy": {"decisionGroups": [{"groupName": "zone",
          "groupClusterSelector": {"labelSelector": {"matchLabels": {"zone": "a"}}}}]}}})";
  const std::string kSpread =
      R"({"spreadPolicy": {"spreadConstraints": [
          {"topologyKey": "zone", "topologyKeyType": "Label"},
          {"topologyKey": "platform", "topologyKeyType": "Claim"}]}})";
  const std::string kCpu =
      R"({"prioritizerPolicy": {"configurations": [
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}}]}})";
  const std::string kCpuOff =
      R"({"prioritizerPolicy": {"configurations": [
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": 0}]}})";
  const std::string kCpuTwice =
      R"({"prioritizerPolicy": {"configurations": [
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}},
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}},
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": 0}]}})";
  const std::string kUnknown =
      R"({"prioritizerPolicy": {"configurations": [
          {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}},
          {"scoreCoordinate": {"builtIn": "Magic"}}]}})";
  const std::string kCel =
      R"({"predicates": [{"requiredClusterSelector": {"celSelector":
          {"celExpressions": ["true"]}}}]})";
  const std::string specs[] = {kAll, kByLabel, kByClaim,  kGroups,  kSpread,
                               kCpu, kCpuOff,  kCpuTwice, kUnknown, kCel};
  struct Row {
    const char* path;
    const char* value;
    // One for each of `specs`.
    const char* noticed;
  };
  const Row rows[] = {
      {"/metadata/labels/other", R"("2")", "---------y"},
      {"/metadata/labels/zone", R"("b")", "-y-yy----y"},
      {"/status/clusterClaims/1/value", R"("8")", "---------y"},
      {"/status/clusterClaims/0/value", R"("gcp")", "--y-y----y"},
      {"/spec/taints/0/effect", R"("NoSelectIfNew")", "yyyyyyyyyy"},
      {"/metadata/deletionTimestamp", R"("2026-01-01T00:00:00Z")", "yyyyyyyyyy"},
      {"/status/allocatable/cpu", R"("4")", "-----y---y"},
      {"/status/allocatable/memory", R"("2Gi")", "-------y-y"},
      {"/status/conditions", "[]", "---------y"},
  };
  for (const Row& row : rows) {
    Json after = before;
    after[Json::json_pointer(row.path)] = kube::MustParseJson(row.value);
    std::string noticed;
    for (const std::string& spec : specs)
      noticed += ReadsOf(spec).Notices(ClusterOf(before), ClusterOf(after)) ? 'y' : '-';
    EXPECT_EQ(noticed, row.noticed) << row.path;
  }
}

TEST(PlacementReads, NoticesNothingOfClustersThatNoPredicateMatches) {
  PlacementReads reads = ReadsOf(
      R"({"predicates": [
          {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"zone": "a"}}}},
          {"requiredClusterSelector": {
              "labelSelector": {"matchLabels": {"zone": "b"}},
              "celSelector": {"celExpressions": ["true"]}}}]})");
  struct Row {
    const char* before;
    const char* after;
    bool noticed;
  };
  for (const Row& row : {Row{"a", "a", true}, Row{"b", "b", true}, Row{"c", "a", true},
                         Row{"b", "c", true}, Row{"c", "c", false}, Row{"c", "d", false}}) {
    ManagedCluster before = ClusterOf({{"metadata", {{"labels", {{"zone", row.before}}}}}});
    ManagedCluster after = ClusterOf({{"metadata", {{"labels", {{"zone", row.after}}}}}});
    after.taints.push_back({.key = "k"});
    EXPECT_EQ(reads.Notices(before, after), row.noticed) << row.before << row.after;
  }
}

TEST(PlacementReads, NoticesChangesOfScores) {
  const kube::WallTime kNow = kube::ParseTime("2026-01-01T00:00:00Z").value();
  PlacementReads reads = ReadsOf(
      R"({"prioritizerPolicy": {"configurations": [{"scoreCoordinate":
          {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}}]}})");
  AddOnPlacementScore scores{
      .cluster = "c1", .name = "r", .scores = {{"s", 1}, {"t", 2}}, .valid_until = kNow + 1min};
  auto noticed = [&](auto change) {
    AddOnPlacementScore after = scores;
    change(after);
    return reads.Notices(&scores, &after, kNow);
  };
  EXPECT_FALSE(noticed([](auto&) {}));
  EXPECT_TRUE(noticed([](auto& after) { after.scores["s"] = 5; }));
  EXPECT_TRUE(noticed([](auto& after) { after.scores.erase("s"); }));
  EXPECT_FALSE(noticed([](auto& after) { after.scores["t"] = 5; }));
  EXPECT_FALSE(noticed([&](auto& after) { after.valid_until = kNow + 1h; }));
  EXPECT_FALSE(noticed([&](auto& after) { after.valid_until = std::nullopt; }));
  EXPECT_TRUE(noticed([&](auto& after) { after.valid_until = kNow + 1s; }));
  EXPECT_TRUE(noticed([&](auto& after) { after.valid_until = kNow - 1s; }));
  EXPECT_TRUE(reads.Notices(nullptr, &scores, kNow));
  EXPECT_TRUE(reads.Notices(&scores, nullptr, kNow));
  // Expired, and extended.
  AddOnPlacementScore later = scores;
  later.valid_until = kNow + 1h;
  EXPECT_TRUE(reads.Notices(&scores, &later, kNow + 2min));
  scores.name = later.name = "other";
  EXPECT_FALSE(reads.Notices(nullptr, &scores, kNow));
}

TEST(PlacementReads, CelReadsAllScores) {
  PlacementReads reads = ReadsOf(
      R"({"predicates": [{"requiredClusterSelector": {"celSelector":
          {"celExpressions": ["true"]}}}]})");
  const kube::WallTime kNow = kube::ParseTime("2026-01-01T00:00:00Z").value();
  AddOnPlacementScore before{.cluster = "c1", .name = "r", .scores = {{"s", 1}}};
  AddOnPlacementScore after = before;
  after.valid_until = kNow;
  EXPECT_FALSE(reads.Notices(&before, &after, kNow));
  after.scores["s"] = 2;
  EXPECT_TRUE(reads.Notices(&before, &after, kNow));
  EXPECT_TRUE(reads.Notices(nullptr, &after, kNow));
}

}  // namespace
}  // namespace fleet

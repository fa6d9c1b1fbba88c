// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/fleet_demo.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "e2e/cluster_harness/nodes.h"
#include "e2e/framework/resources.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/e2e/demo/fleet_story.h"
#include "fleet/testing/make_object.h"
#include "kube/client/typed.h"

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kTeam[] = "team";
constexpr char kShop[] = "shop";  // where the configs are, in the members
constexpr char kScores[] = "multiarch";
constexpr char kArm64Cpu[] = "arm64.cpu";
constexpr char kEverywhere[] = "everywhere";
constexpr char kMostArm64[] = "most-arm64";
constexpr char kBase[] = "base";
constexpr char kArm64First[] = "arm64-first";

constexpr char kAgentRole[] = "fleet/manifests/hub/base/agent_role.yaml";
constexpr char kPlacementObjects[] = "fleet/e2e/demo/objects/placements.yaml";
constexpr char kRolloutObjects[] = "fleet/e2e/demo/objects/rollout.yaml";

// Nodes of 64 cores (e2e/cluster_harness/nodes.h).
struct NodeGroup {
  const char* member;
  const char* architecture;
  int nodes;
};
constexpr NodeGroup kNodeGroups[] = {{FleetDemo::kEast, "amd64", 2},
                                     {FleetDemo::kEast, "arm64", 2},
                                     {FleetDemo::kWest, "amd64", 1},
                                     {FleetDemo::kWest, "arm64", 3}};
// 100 stands for 256 free cores of the architecture.
constexpr int64_t kEastArm64 = 50;
constexpr int64_t kWestArm64 = 75;

std::string NodeName(const NodeGroup& group, int number) {
  return std::string(group.member) + "-" + group.architecture + "-" + std::to_string(number);
}

// "east and west"
std::string TextOf(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : " and ") + name;
  return joined;
}

}  // namespace

FleetDemo::FleetDemo(DemoFleet& fleet) : fleet_(fleet) {
  fleet_.OnHubChange([this] { WatchRollout(); });
}

FleetDemo::~FleetDemo() { fleet_.OnHubChange(nullptr); }

Result<> FleetDemo::Run() {
  struct Step {
    const char* title;
    Result<> (FleetDemo::*act)();
  };
  constexpr Step kSteps[] = {
      {"API servers of a hub and two members", &FleetDemo::StartControlPlanes},
      {"nodes of the members", &FleetDemo::CreateNodes},
      {"the members join the hub, and each agent publishes what is free", &FleetDemo::Join},
      {"Placements: every cluster, and the one with the most free arm64", &FleetDemo::Place},
      {"rollout, one cluster after another", &FleetDemo::RollOut},
      {"west loses its arm64 nodes", &FleetDemo::LoseArm64},
  };
  for (const Step& step : kSteps) {
    fleet_.Title(step.title);
    Result<> done = (this->*step.act)();
    if (!done) return done.error().Prefix(step.title);
  }
  return Ok();
}

Result<> FleetDemo::StartControlPlanes() { return fleet_.StartControlPlanes(); }

Result<> FleetDemo::CreateNodes() {
  for (const char* member : {kEast, kWest}) {
    Result<> created = fleet_.member(member).Create(kNamespaces, fleet::MakeNamespace(kShop));
    if (!created) return created.error().Prefix(member);
  }
  size_t nodes = 0;
  for (const NodeGroup& group : kNodeGroups) {
    for (int number = 1; number <= group.nodes; ++number, ++nodes) {
      Json node = MakeNode(NodeName(group, number), group.architecture);
      Result<> created = fleet_.member(group.member).Create(kNodes, std::move(node));
      if (!created) return created.error().Prefix(group.member);
    }
  }
  auto seen = [this, nodes] {
    return fleet_.at_member(kEast).All(kNodes).size() +
               fleet_.at_member(kWest).All(kNodes).size() ==
           nodes;
  };
  return fleet_.Await("all nodes exist", seen);
}

Result<> FleetDemo::Join() {
  Result<> done = fleet_.hub().ApplyFile(kAgentRole);
  if (done) done = fleet_.StartHub();
  if (done) done = JoinMember(kEast);
  if (done) done = JoinMember(kWest);
  for (const char* member : {kEast, kWest}) {
    if (done) done = AwaitTrue(member, fleet::kClusterAvailable, "is available");
  }
  if (done) done = AwaitScore(kEast, kEastArm64);
  if (done) done = AwaitScore(kWest, kWestArm64);
  return done;
}

Result<> FleetDemo::JoinMember(const std::string& member) {
  Result<> done = fleet_.hub().Create(fleet::kManagedClusters, fleet::MakeManagedCluster(member));
  if (!done) return done;
  done = AwaitTrue(member, fleet::kHubAccepted, "is accepted, and its agent has access to the hub");
  if (done) done = fleet_.StartAgent(member);
  return done;
}

Result<> FleetDemo::AwaitTrue(const std::string& member, std::string_view condition,
                              const std::string& meaning) {
  auto holds = [this, &member, condition] {
    return IsTrue(fleet_.at_hub().Find(fleet::kManagedClusters, {"", member}), condition);
  };
  return fleet_.Await(member + " " + meaning, holds);
}

Result<> FleetDemo::Place() {
  Result<> done = fleet_.hub().ApplyFile(kPlacementObjects);
  if (done) done = AwaitSelected(kEverywhere, {kEast, kWest});
  if (done) done = AwaitSelected(kMostArm64, {kWest});
  return done;
}

Result<> FleetDemo::RollOut() {
  fleet_.Say(
      "", "the members run no pods: the demo reports configs as Available, as the operator does");
  Result<> done = fleet_.hub().ApplyFile(kRolloutObjects);
  if (done) done = AwaitRolledOut(kBase, {kEast, kWest});
  if (done) done = AwaitRolledOut(kArm64First, {kWest});
  if (done) done = AwaitConfigs(kEast, {kBase});
  if (done) done = AwaitConfigs(kWest, {kArm64First, kBase});
  if (!done) return done;
  if (most_in_progress_ != 1 || rollout_order_ != std::vector<std::string>{kEast, kWest}) {
    return Error::Internal(
        "the rollout was to one cluster at a time, east first; seen: " + TextOf(rollout_order_) +
        ", at most " + std::to_string(most_in_progress_) + " at a time");
  }
  fleet_.Say("", "seen: " + TextOf(rollout_order_) + ", one at a time");
  return Ok();
}

Result<> FleetDemo::LoseArm64() {
  const std::string before = kube::StringAt(DecisionOf(kEverywhere), "metadata.resourceVersion");
  for (const NodeGroup& group : kNodeGroups) {
    if (std::string_view(group.member) != kWest || std::string_view(group.architecture) != "arm64")
      continue;
    for (int number = 1; number <= group.nodes; ++number) {
      kube::ObjectKey node{"", NodeName(group, number)};
      FleetCluster& west = fleet_.member(kWest);
      Result<> deleted = west.Run(kube::DeleteObject(west.client(), kNodes, node));
      if (!deleted) return deleted.error().Prefix("delete node " + node.name);
    }
  }
  Result<> done = AwaitScore(kWest, 0);
  if (done) done = AwaitSelected(kMostArm64, {kEast});
  if (done) done = AwaitConfigs(kEast, {kArm64First, kBase});
  if (done) done = AwaitConfigs(kWest, {kBase});
  if (done) done = AwaitRolledOut(kArm64First, {kEast});
  if (!done) return done;
  if (kube::StringAt(DecisionOf(kEverywhere), "metadata.resourceVersion") != before)
    return Error::Internal("the decision of Placement everywhere was written without a change");
  fleet_.Say("", "seen: the decision of Placement everywhere was not written again");
  return Ok();
}

Result<> FleetDemo::AwaitScore(const std::string& member, int64_t score) {
  auto published = [this, &member, score] {
    const Json& scores = fleet_.at_hub().Find(fleet::kAddOnPlacementScores, {member, kScores});
    return kube::Find(scores, "status.scores") != nullptr && ScoreOf(scores, kArm64Cpu) == score;
  };
  return fleet_.Await("the free arm64 CPU of " + member + " counts " + std::to_string(score),
                      published);
}

Result<> FleetDemo::AwaitSelected(const std::string& placement, std::vector<std::string> clusters) {
  return fleet_.Await("Placement " + placement + " selects " + TextOf(clusters),
                      [&] { return SelectedBy(placement) == clusters; });
}

Result<> FleetDemo::AwaitRolledOut(const std::string& rollout, std::vector<std::string> clusters) {
  std::map<std::string, bool> wanted;
  for (const std::string& cluster : clusters) wanted[cluster] = true;
  const int64_t count = static_cast<int64_t>(clusters.size());
  auto rolled_out = [this, &rollout, &wanted, count] {
    const Json& found = fleet_.at_hub().Find(fleet::kFleetPodPlacements, {kTeam, rollout});
    return SucceededWith(rollout) == wanted && IsTrue(found, fleet::kRolledOut) &&
           kube::IntAt(found, "status.total") == count &&
           kube::IntAt(found, "status.succeeded") == count;
  };
  return fleet_.Await("FleetPodPlacement " + rollout + " is rolled out to " + TextOf(clusters),
                      rolled_out);
}

Result<> FleetDemo::AwaitConfigs(const std::string& member, std::vector<std::string> names) {
  return fleet_.Await("namespace " + std::string(kShop) + " of " + member + " has " + TextOf(names),
                      [&] { return ConfigsIn(member) == names; });
}

const Json& FleetDemo::DecisionOf(const std::string& placement) const {
  return fleet_.at_hub().Find(fleet::kPlacementDecisions, {kTeam, placement + "-decision-1"});
}

std::vector<std::string> FleetDemo::SelectedBy(const std::string& placement) const {
  std::vector<std::string> clusters = ClustersOf(DecisionOf(placement));
  std::sort(clusters.begin(), clusters.end());
  return clusters;
}

std::vector<std::string> FleetDemo::ConfigsIn(const std::string& member) const {
  std::vector<std::string> names;
  for (const Json& config : fleet_.at_member(member).All(kConfigs))
    names.push_back(kube::StringAt(config, "metadata.name"));
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, bool> FleetDemo::SucceededWith(const std::string& rollout) const {
  const std::string name = fleet::WorkName(kTeam, rollout);
  std::map<std::string, bool> succeeded;
  for (const Json& work : fleet_.at_hub().All(fleet::kPodPlacementWorks)) {
    if (kube::StringAt(work, "metadata.name") != name) continue;
    succeeded[kube::StringAt(work, "metadata.namespace")] =
        kube::StringAt(work, "status.hash") == kube::StringAt(work, "spec.hash") &&
        kube::StringAt(work, "status.phase") == "Succeeded";
  }
  return succeeded;
}

void FleetDemo::WatchRollout() {
  size_t in_progress = 0;
  for (const auto& [cluster, succeeded] : SucceededWith(kBase)) {
    if (std::find(rollout_order_.begin(), rollout_order_.end(), cluster) == rollout_order_.end())
      rollout_order_.push_back(cluster);
    in_progress += succeeded ? 0 : 1;
  }
  most_in_progress_ = std::max(most_in_progress_, in_progress);
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// The hub's program beside OCM's placement controller (a stand-in that follows its rule), while
// Placements go from one to the other: no PlacementDecision is written by both, and a Placement
// keeps its clusters. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/conditions.h"
#include "benchmarks/create_many.h"
#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/follower.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/e2e/decision_log.h"
#include "fleet/e2e/fleet_cluster.h"
#include "fleet/e2e/fleet_fixture.h"
#include "fleet/e2e/ocm_stand_in.h"
#include "fleet/testing/make_object.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::Result;

constexpr char kOcmAccount[] = "multiarch-ocm-stand-in";
constexpr char kTeam[] = "team";
constexpr char kMoved[] = "moved-";
// A Placement that is always the hub's, and changes only to know how far the hub is.
constexpr char kCanary[] = "canary";
// Two PlacementDecisions for each Placement.
constexpr int kClusters = 110;
constexpr int kPlacements = 8;
constexpr int kSteps = 30;
constexpr auto kTimeout = 120s;

enum class Owner { kOcm, kHub, kNobody };

// The annotations of a Placement: whether OCM's controller skips it, and whether it is claimed.
struct Claim {
  bool disabled = false;
  bool claimed = false;

  Owner owner() const {
    if (!disabled) return Owner::kOcm;
    return claimed ? Owner::kHub : Owner::kNobody;
  }
  // null removes an annotation.
  Json Annotations() const {
    Json annotations = Json::object();
    annotations[std::string(fleet::kSchedulingDisableAnnotation)] =
        disabled ? Json("true") : Json(nullptr);
    annotations[std::string(fleet::kSchedulerAnnotation)] =
        claimed ? Json(std::string(fleet::kSchedulerName)) : Json(nullptr);
    return annotations;
  }
};
constexpr Claim kHubs{.disabled = true, .claimed = true};
constexpr Claim kOcms{};

std::string NameOfCluster(int number) { return "cluster-" + std::to_string(number); }
std::string NameOfPlacement(int number) { return kMoved + std::to_string(number); }

Json NewPlacement(const std::string& name, const Claim& claim) {
  Json placement = fleet::MakeObject(fleet::kPlacements, kTeam, name, "{}");
  placement.merge_patch({{"metadata", {{"annotations", claim.Annotations()}}}});
  return placement;
}

class OcmBesideTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ControlPlaneAssets().empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    auto cluster =
        FleetCluster::Start({.assets = ControlPlaneAssets(), .folder = TestFolder(), .audit = true},
                            {"fleet/api/crds"});
    ASSERT_TRUE(cluster) << cluster.error();
    cluster_ = std::move(*cluster);
    requests_ = std::make_unique<RequestLog>(cluster_->plane().audit_log());
    tasks_ = std::make_unique<kube::TaskGroup>(cluster_->io().get_executor());
    CreateFleet();
    StartControllers();
  }
  void TearDown() override {
    if (tasks_ == nullptr) return;
    Result<> stopped = cluster_->Run(tasks_->Stop(cluster_->clock(), 10s));
    EXPECT_TRUE(stopped) << stopped.error();
  }

  void CreateFleet() {
    auto create = [&](kube::Resource resource, Json object) {
      Result<> created = cluster_->Create(resource, std::move(object));
      EXPECT_TRUE(created) << created.error();
    };
    create(kube::kNamespaces, fleet::MakeNamespace(kTeam));
    create(fleet::kManagedClusterSets, fleet::MakeClusterSet("global", fleet::kSelectsAll));
    create(fleet::kManagedClusterSetBindings, fleet::MakeSetBinding(kTeam, "global"));
    Result<> created = benchmarks::CreateMany(
        *cluster_, fleet::kManagedClusters, kClusters,
        [](int number) { return fleet::MakeManagedCluster(NameOfCluster(number)); }, kTimeout);
    EXPECT_TRUE(created) << created.error();
    for (int number = 0; number < kPlacements; ++number) {
      claims_[NameOfPlacement(number)] = number % 2 == 0 ? kHubs : kOcms;
      create(fleet::kPlacements,
             NewPlacement(NameOfPlacement(number), claims_[NameOfPlacement(number)]));
    }
    claims_[kCanary] = kHubs;
    create(fleet::kPlacements, NewPlacement(kCanary, kHubs));
  }

  void StartControllers() {
    Result<std::string> kubeconfig = cluster_->NewAdmin(kOcmAccount);
    ASSERT_TRUE(kubeconfig) << kubeconfig.error();
    auto config = kube::LoadKubeconfig(*kubeconfig);
    ASSERT_TRUE(config) << config.error();
    auto client = kube::NewClient(cluster_->io().get_executor(), cluster_->clock(), *config,
                                  {.user_agent = "placement"});
    ASSERT_TRUE(client) << client.error();
    ocm_client_ = std::move(*client);
    ocm_ = std::make_unique<OcmStandIn>(*ocm_client_, cluster_->clock());
    decisions_ = std::make_unique<Follower>(
        cluster_->client(), cluster_->clock(), fleet::kPlacementDecisions, kube::ListOptions(),
        [this](const std::string& type, const Json& decision) { log_.On(type, decision); });
    placements_ = std::make_unique<Follower>(
        cluster_->client(), cluster_->clock(), fleet::kPlacements, kube::ListOptions(),
        [this](const std::string&, const Json& json) {
          Result<fleet::Placement> placement = fleet::Placement::FromJson(json);
          if (placement) seen_[placement->name] = std::move(*placement);
        });
    requests_->Skip();
    Result<std::string> hub_kubeconfig = cluster_->NewAdmin(FleetCluster::kHubAccount);
    ASSERT_TRUE(hub_kubeconfig) << hub_kubeconfig.error();
    Result<> started = cluster_->StartHub(*hub_kubeconfig, FleetCluster::kNamespace);
    ASSERT_TRUE(started) << started.error();
    tasks_->Spawn("ocm", ocm_->Run());
    tasks_->Spawn("decisions", decisions_->Run());
    tasks_->Spawn("placements", placements_->Run());
  }

  // Runs the event loop until `holds`.
  void Await(const std::string& what, const FleetCluster::Holds& holds) {
    Result<> awaited = cluster_->Await(what, holds);
    ASSERT_TRUE(awaited) << awaited.error() << cluster_->Logs();
  }

  void PatchPlacement(const std::string& name, Json patch) {
    Result<> patched = cluster_->Patch(fleet::kPlacements, {kTeam, name}, std::move(patch));
    ASSERT_TRUE(patched) << patched.error();
  }

  // Returns when both have made a pass that knows all that is stored now: the stand-in by its
  // passes; the hub because its watch of Placements delivers the change of the canary last.
  void AwaitBoth() {
    int passes = ocm_->passes() + 2;
    canary_clusters_ = canary_clusters_ % 5 + 1;
    PatchPlacement(kCanary, {{"spec", {{"numberOfClusters", canary_clusters_}}}});
    Await("both controllers know everything", [&] {
      return ocm_->passes() >= passes &&
             seen_[kCanary].status.number_of_selected_clusters == canary_clusters_;
    });
  }

  // The clusters without taints.
  std::set<std::string> Wanted() const {
    std::set<std::string> wanted;
    for (int number = 0; number < kClusters; ++number) {
      if (!tainted_.contains(number)) wanted.insert(NameOfCluster(number));
    }
    return wanted;
  }
  std::set<std::string> Selected(const std::string& placement) const {
    std::set<std::string> selected;
    for (const auto& [cluster, entries] : log_.Of({kTeam, placement})) selected.insert(cluster);
    return selected;
  }
  void AwaitDecisions() {
    Await("each controller has decided", [&] {
      std::set<std::string> wanted = Wanted();
      for (const auto& [name, claim] : claims_) {
        if (name == kCanary || claim.owner() == Owner::kNobody) continue;
        if (Selected(name) != wanted) return false;
      }
      return true;
    });
  }

  // Expects that since the last call only their owners, now or in `before`, wrote the decisions of
  // Placements. Returns: how many writes there were.
  int ExpectOnlyOwnersWrote(const std::map<std::string, Claim>& before) {
    Result<std::vector<LoggedRequest>> requests = requests_->Read();
    EXPECT_TRUE(requests) << requests.error();
    if (!requests) return 0;
    int writes = 0;
    for (const LoggedRequest& request : *requests) {
      if (!request.IsWrite() || !request.resource.starts_with("placementdecisions")) continue;
      std::string placement = request.name.substr(0, request.name.rfind("-decision-"));
      if (placement == kCanary) continue;
      Owner writer = request.account == kOcmAccount ? Owner::kOcm : Owner::kHub;
      auto now = claims_.find(placement);
      EXPECT_TRUE(now != claims_.end() &&
                  (now->second.owner() == writer || before.at(placement).owner() == writer))
          << request.Kind() << " " << request.name;
      ++writes;
    }
    return writes;
  }

  // Gives Placements to other owners, or to none.
  void HandOver() {
    std::map<std::string, Claim> before = claims_;
    log_.BeginChange();
    for (int number = 0; number < kPlacements; ++number) {
      if (Random(2) == 0) continue;
      Claim claim{.disabled = Random(2) == 0, .claimed = Random(2) == 0};
      std::string name = NameOfPlacement(number);
      handed_over_ += claim.owner() != claims_[name].owner();
      PatchPlacement(name, {{"metadata", {{"annotations", claim.Annotations()}}}});
      claims_[name] = claim;
    }
    AwaitBoth();
    AwaitDecisions();
    ExpectOnlyOwnersWrote(before);
    // Only a Placement without a scheduler for some time may lose clusters.
    for (const std::string& line : log_.Left()) {
      std::string name = line.substr(line.find('/') + 1);
      name.resize(name.find(' '));
      EXPECT_TRUE(name == kCanary || before.at(name).owner() == Owner::kNobody) << line;
    }
  }

  // A cluster gets a taint, or loses it.
  void ChangeCluster() {
    std::map<std::string, std::set<std::string>> of_nobody;
    for (const auto& [name, claim] : claims_) {
      if (claim.owner() == Owner::kNobody) of_nobody[name] = Selected(name);
    }
    int number = Random(kClusters);
    Json taints = Json::array();
    if (tainted_.erase(number) == 0) {
      tainted_.insert(number);
      taints.push_back({{"key", "test"}, {"effect", "NoSelect"}});
    }
    Result<> patched = cluster_->Patch(fleet::kManagedClusters, {"", NameOfCluster(number)},
                                       {{"spec", {{"taints", std::move(taints)}}}});
    ASSERT_TRUE(patched) << patched.error();
    AwaitDecisions();
    AwaitBoth();
    written_ += ExpectOnlyOwnersWrote(claims_);
    for (const auto& [name, clusters] : of_nobody) EXPECT_EQ(Selected(name), clusters) << name;
  }

  int Random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::unique_ptr<FleetCluster> cluster_;
  std::unique_ptr<RequestLog> requests_;
  std::unique_ptr<kube::Client> ocm_client_;
  std::unique_ptr<OcmStandIn> ocm_;
  DecisionLog log_;
  std::map<std::string, fleet::Placement> seen_;
  std::unique_ptr<Follower> decisions_;
  std::unique_ptr<Follower> placements_;
  std::unique_ptr<kube::TaskGroup> tasks_;
  std::map<std::string, Claim> claims_;
  std::set<int> tainted_;
  int canary_clusters_ = 0;
  int handed_over_ = 0;
  int written_ = 0;
  std::mt19937 random_{14};
};

TEST_F(OcmBesideTest, NoDecisionIsWrittenByBoth) {
  AwaitBoth();
  AwaitDecisions();
  ExpectOnlyOwnersWrote(claims_);
  for (int step = 0; step < kSteps && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    if (step % 2 == 0) {
      HandOver();
    } else {
      ChangeCluster();
    }
  }
  EXPECT_GT(handed_over_, kSteps / 2);
  EXPECT_GT(written_, kSteps);
  EXPECT_EQ(decisions_->gaps(), 0);
}

// OCM's controller empties the decisions of a misconfigured Placement; the hub's keep them.
TEST_F(OcmBesideTest, AMisconfiguredPlacementKeepsItsClustersUntilItIsOcms) {
  AwaitBoth();
  AwaitDecisions();
  std::string name = NameOfPlacement(0);
  ASSERT_EQ(claims_[name].owner(), Owner::kHub);
  log_.BeginChange();
  Json no_key = {{"operator", "Equal"}, {"value", "x"}};
  PatchPlacement(name, {{"spec", {{"tolerations", Json::array({no_key})}}}});
  Await("the hub says that it is misconfigured", [&] {
    for (const api::Condition& condition : seen_[name].status.conditions) {
      if (condition.type == fleet::kPlacementMisconfigured && condition.status == "True")
        return true;
    }
    return false;
  });
  AwaitBoth();
  ExpectOnlyOwnersWrote(claims_);
  EXPECT_EQ(Selected(name), Wanted());

  std::map<std::string, Claim> before = claims_;
  claims_[name] = kOcms;
  PatchPlacement(name, {{"metadata", {{"annotations", kOcms.Annotations()}}}});
  Await("OCM has emptied it", [&] { return Selected(name).empty(); });
  AwaitBoth();
  ExpectOnlyOwnersWrote(before);

  before = claims_;
  claims_[name] = kHubs;
  PatchPlacement(name, {{"metadata", {{"annotations", kHubs.Annotations()}}},
                        {"spec", {{"tolerations", nullptr}}}});
  AwaitDecisions();
  AwaitBoth();
  ExpectOnlyOwnersWrote(before);
}

}  // namespace
}  // namespace e2e

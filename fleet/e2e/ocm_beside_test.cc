// SPDX-License-Identifier: Apache-2.0
// The hub's program beside OCM's placement controller (a stand-in that follows its rule), while
// Placements go from one to the other: no PlacementDecision is written by both, and a Placement
// keeps its clusters. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
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
#include "fleet/e2e/hub_cluster.h"
#include "fleet/e2e/ocm_stand_in.h"
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
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;

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
  Json placement = {{"apiVersion", fleet::kPlacements.ApiVersion()},
                    {"kind", std::string(fleet::kPlacements.kind)},
                    {"spec", Json::object()}};
  placement["metadata"] = {{"name", name}, {"namespace", kTeam}};
  const Json annotations = claim.Annotations();
  for (const auto& [key, value] : annotations.items()) {
    if (!value.is_null()) placement["metadata"]["annotations"][key] = value;
  }
  return placement;
}

class OcmBesideTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("KUBEBUILDER_ASSETS");
    if (assets == nullptr || *assets == '\0')
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/" +
                         testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
    auto cluster = HubCluster::Start({.assets = assets, .folder = folder, .audit = true});
    ASSERT_TRUE(cluster) << cluster.error();
    cluster_ = std::move(*cluster);
    requests_ = std::make_unique<RequestLog>(cluster_->control_plane().audit_log());
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
      object["apiVersion"] = resource.ApiVersion();
      object["kind"] = std::string(resource.kind);
      auto created = cluster_->Run(
          kube::CreateObject(cluster_->client(), resource, Unstructured(std::move(object))));
      EXPECT_TRUE(created) << created.error();
    };
    create(kube::kNamespaces, {{"metadata", {{"name", kTeam}}}});
    create(fleet::kManagedClusterSets,
           kube::MustParseJson(R"({"metadata": {"name": "global"}, "spec": {
        "clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}})"));
    create(fleet::kManagedClusterSetBindings,
           {{"metadata", {{"name", "global"}, {"namespace", kTeam}}},
            {"spec", {{"clusterSet", "global"}}}});
    Result<> created = benchmarks::CreateMany(
        *cluster_, fleet::kManagedClusters, kClusters,
        [](int number) {
          return Json{{"apiVersion", fleet::kManagedClusters.ApiVersion()},
                      {"kind", std::string(fleet::kManagedClusters.kind)},
                      {"metadata", {{"name", NameOfCluster(number)}}},
                      {"spec", {{"hubAcceptsClient", true}}}};
        },
        kTimeout);
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
    Result<> started = cluster_->StartHub();
    ASSERT_TRUE(started) << started.error();
    tasks_->Spawn("ocm", ocm_->Run());
    tasks_->Spawn("decisions", decisions_->Run());
    tasks_->Spawn("placements", placements_->Run());
  }

  // Runs the event loop until `holds`.
  void Await(const std::string& what, const std::function<bool()>& holds) {
    for (auto deadline = cluster_->clock().Now() + kTimeout; !holds(); cluster_->Pause(2ms)) {
      Result<> runs = cluster_->HubRuns();
      ASSERT_TRUE(runs) << runs.error();
      ASSERT_LT(cluster_->clock().Now(), deadline) << what << "\n" << cluster_->Describe("");
    }
  }

  void PatchPlacement(const std::string& name, Json patch) {
    auto patched =
        cluster_->Run(kube::PatchObject(cluster_->client(), fleet::kPlacements, {kTeam, name},
                                        kube::kMergePatch, std::move(patch)));
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
    Json patch = {{"spec", {{"taints", std::move(taints)}}}};
    auto patched = cluster_->Run(kube::PatchObject(cluster_->client(), fleet::kManagedClusters,
                                                   {"", NameOfCluster(number)}, kube::kMergePatch,
                                                   std::move(patch)));
    ASSERT_TRUE(patched) << patched.error();
    AwaitDecisions();
    AwaitBoth();
    written_ += ExpectOnlyOwnersWrote(claims_);
    for (const auto& [name, clusters] : of_nobody) EXPECT_EQ(Selected(name), clusters) << name;
  }

  int Random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::unique_ptr<HubCluster> cluster_;
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

// SPDX-License-Identifier: Apache-2.0
// The memory of a hub in which every budget of fleet/api/budgets.h is full: all watches of a
// leader with its own membership and with CEL, and an API server that makes up the objects.
//
// Not in it: what runs between watches. That is the 256 MiB that the evaluator of CEL may have, as
// a process of its own, and kBetweenWatches.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/cluster_cel.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/fleet_watch.h"
#include "fleet/hub/store_decisions.h"
#include "fleet/image-facts/fact_collector.h"
#include "fleet/rollout/controller/rollouts.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/membership/membership.h"
#include "fleet/testing/make_object.h"
#include "image-facts/testing/make_facts.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;

constexpr size_t kMemoryLimit = 832 * kMiB;     // of the container (hub.yaml)
constexpr size_t kEvaluatorLimit = 256 * kMiB;  // fleet/cel/evaluator/main.go
// Verdicts of 2,000 celSelectors about all clusters, 8 MiB of their errors, and bodies of requests.
constexpr size_t kBetweenWatches = 32 * kMiB;

constexpr size_t kClusters = kClusterBudget.objects;
constexpr size_t kTenants = 50;
// More than have room for what they publish.
constexpr size_t kTrusted = 20;

std::string Cluster(size_t number) { return "cluster-" + std::to_string(number); }
std::string Tenant(size_t number) { return "tenant-" + std::to_string(number % kTenants); }

// Of which the first ones are the oldest.
Json Stamped(Json object, size_t number) {
  Json& metadata = object["metadata"];
  metadata["uid"] = "00000000-0000-0000-0000-" + std::to_string(100'000'000'000 + number);
  metadata["resourceVersion"] = std::to_string(1'000'000 + number);
  metadata["creationTimestamp"] =
      kube::FormatTime(kube::WallTime(std::chrono::seconds(1'700'000'000 + number)));
  return object;
}

Json ClusterObject(size_t number) {
  MakeObject cluster = MakeManagedCluster(Cluster(number));
  Json claims = Json::array();
  for (int i = 0; i < 10; ++i) {
    cluster.Label("example.com/label-" + std::to_string(i), std::string(40, 'l'));
    claims.push_back({{"name", "claim-" + std::to_string(i)}, {"value", std::string(180, 'v')}});
  }
  Json condition = {{"type", "ManagedClusterConditionAvailable"},
                    {"status", "True"},
                    {"reason", "R"},
                    {"message", std::string(3900, 'm')},
                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  return cluster.Set("/status/clusterClaims", std::move(claims))
      .Set("/status/conditions", Json::array({std::move(condition)}));
}

// Those of the first clusters are as large as may be.
Json ScoreObject(size_t number) {
  Json score = MakeScore(Cluster(number / 2), "score-" + std::to_string(number % 2), "s", 1);
  Json& scores = score["status"]["scores"];
  for (int i = 0; number < 1040 && number % 2 == 0 && i < 300; ++i)
    scores.push_back({{"name", "n" + std::to_string(i)}, {"value", 1}});
  return score;
}

Json PlacementObject(size_t number) {
  Json requirements = Json::array();
  for (int i = 0; i < 8; ++i) {
    requirements.push_back({{"key", "k" + std::to_string(i)},
                            {"operator", "In"},
                            {"values", {"a", "b", "c", "d", "e"}}});
  }
  Json spec = {{"predicates", Json::array()}};
  spec["predicates"].push_back(
      {{"requiredClusterSelector", {{"labelSelector", {{"matchExpressions", requirements}}}}}});
  return MakePlacement(Tenant(number), "placement-" + std::to_string(number))
      .Set("/spec", std::move(spec));
}

// The entries come in blocks, which are made once: there are millions.
Json DecisionObject(size_t number) {
  static const std::vector<Json> kPages = [] {
    std::vector<Json> pages;
    for (size_t page = 0; page < kClusters / 100; ++page) {
      std::vector<std::string> clusters;
      for (size_t i = 0; i < 100; ++i) clusters.push_back(Cluster(page * 100 + i));
      pages.push_back(MakePlacementDecision("", "", "", clusters));
    }
    return pages;
  }();
  std::string placement = "placement-" + std::to_string(number / 100);
  std::string name = placement + "-decision-" + std::to_string(number);
  Json decision = MakePlacementDecision(Tenant(number), name, placement, {});
  if (number < 35'000) decision["status"] = kPages[number % kPages.size()].at("status");
  return decision;
}

Json FleetObject(size_t number) {
  Json fleet = MakeFleetPodPlacement(Tenant(number), "fleet-" + std::to_string(number), "p");
  // The first ones have 500 KiB.
  size_t configs = number < 20 ? 10 : 1;
  Json numbers = Json::array();
  for (size_t i = 0; i < (number < 20 ? 25'000u : 100u); ++i) numbers.push_back(0);
  for (size_t i = 0; i < configs; ++i) {
    Json config = MakeConfig("ns", "config-" + std::to_string(i));
    config["spec"]["unknown"] = numbers;
    fleet["spec"]["podPlacementConfigs"].push_back(
        {{"metadata", config["metadata"]}, {"spec", config["spec"]}});
  }
  return fleet;
}

Json WorkObject(size_t number) {
  std::string owner = "fleet-" + std::to_string(number / kClusters);
  Json work = MakeWork(Cluster(number % kClusters), {MakeConfig("ns", "a")});
  work["metadata"]["name"] = WorkName("tenant-0", owner);
  work["metadata"]["labels"] = {{std::string(kWorkNamespaceLabel), "tenant-0"},
                                {std::string(kWorkNameLabel), owner}};
  Json condition = {{"type", std::string(kSucceededCondition)},
                    {"status", "False"},
                    {"reason", "Failed"},
                    {"message", std::string(1100, 'm')},
                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  work["status"] = {{"hash", "h1"}, {"phase", "Failed"}, {"conditions", Json::array({condition})}};
  return work;
}

Json NamespaceObject(size_t number) {
  Json ns = ClusterNamespace(Cluster(number));
  ns["metadata"]["annotations"]["a"] = std::string(1000, 'a');
  return ns;
}

// Without its facts, as the hub watches it.
Json FactsObject(size_t number) {
  Json object;
  object["metadata"] = {{"name", image_facts::ObjectName(number % 4)},
                        {"namespace", Cluster(number / 4)},
                        {"annotations", {{"a", std::string(2000, 'a')}}}};
  return object;
}

// Whose facts are different from those of all other objects.
image_facts::ImageFacts FactsOf(const std::string& path) {
  image_facts::ImageFacts object;
  object.mutable_metadata()->set_resource_version("1");
  const std::string owner = std::to_string(std::hash<std::string>()(path));
  for (size_t i = 0; i < image_facts::kMaxFactsPerObject; ++i) {
    const std::string name = owner + std::to_string(i);
    std::string digest = "sha256:" + std::string(64 - name.size(), '0') + name;
    object.facts.push_back({"r.io/team/application-" + name + "@" + digest, digest,
                            image_facts::OnLinux({"amd64"}),
                            image_facts::Seconds(std::chrono::seconds(0))});
  }
  return object;
}

struct Kind {
  size_t objects;
  std::function<Json(size_t number)> make;
};

// More of each kind than there is room for.
std::map<std::string, Kind> AllKinds() {
  std::map<std::string, Kind> kinds = {
      {"managedclusters", {kClusters + 500, ClusterObject}},
      {"managedclustersets", {100, [](size_t i) { return Json(MakeClusterSet(Tenant(i))); }}},
      {"managedclustersetbindings",
       {kTenants, [](size_t i) { return Json(MakeSetBinding(Tenant(i), "default")); }}},
      {"addonplacementscores", {kScoreBudget.objects + 500, ScoreObject}},
      {"placements", {kPlacementBudget.objects + 500, PlacementObject}},
      {"placementdecisions", {kDecisionBudget.objects + 500, DecisionObject}},
      {"fleetpodplacements", {kFleetBudget.objects + 50, FleetObject}},
      {"podplacementworks", {kMaxWorks, WorkObject}},
      {"imagefacts", {kClusters * 4, FactsObject}},
      {"namespaces", {kClusters, NamespaceObject}}};
  for (size_t part = 0; part < kAgentAccessResources.size(); ++part) {
    kinds[std::string(kAgentAccessResources[part].plural)] = {
        kClusters, [part](size_t i) { return AgentAccess(Cluster(i))[part]; }};
  }
  return kinds;
}

// Sends the objects of a kind, then nothing.
class MadeUpObjects final : public kube::WatchStream {
 public:
  explicit MadeUpObjects(Kind kind) : kind_(std::move(kind)) {}

  kube::Async<std::optional<std::string>> Next() override {
    if (sent_ > kind_.objects) {
      kube::Result<> waited = co_await never_.Wait();
      if (!waited) co_return waited.error();
    }
    Json event = {{"type", "ADDED"}};
    if (sent_ == kind_.objects) {
      event["type"] = "BOOKMARK";
      event["object"]["metadata"] = {{"resourceVersion", "1"},
                                     {"annotations", {{"k8s.io/initial-events-end", "true"}}}};
    } else {
      event["object"] = Stamped(kind_.make(sent_), sent_);
    }
    ++sent_;
    co_return std::optional<std::string>(kube::DumpJson(event));
  }

 private:
  Kind kind_;
  size_t sent_ = 0;
  kube::Notifier never_;
};

class FullHub final : public kube::Client {
 public:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (request.target.find("/imagefacts/") == std::string::npos)
      co_return kube::Error::Unavailable("only watches and what members publish");
    ++facts_read_;
    kube::ApiResponse response{.status = 200, .content_type = "application/json"};
    response.body = kube::DumpJson(FactsOf(request.target).ToJson());
    co_return response;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    std::string path = request.target.substr(0, request.target.find('?'));
    auto kind = kinds_.find(path.substr(path.rfind('/') + 1));
    if (kind == kinds_.end()) co_return kube::Error::Unavailable("not made up");
    std::unique_ptr<kube::WatchStream> stream = std::make_unique<MadeUpObjects>(kind->second);
    co_return stream;
  }

  size_t facts_read() const { return facts_read_; }

 private:
  std::map<std::string, Kind> kinds_ = AllKinds();
  size_t facts_read_ = 0;
};

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

TEST(FullBudgets, LeaveRoomInTheHub) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer build needs more memory";
#endif
  boost::asio::io_context io;
  kube::FakeClock clock;
  FullHub client;
  kube::TaskGroup tasks(io.get_executor());
  kube::EventRecorder events(client, clock, {.component = "test"});
  cel::Evaluator evaluator(io.get_executor(), clock, {.program = "/none"});
  FleetStore store(clock, [](const kube::ObjectKey&) {});
  FleetWatch watch(client, clock, store);
  ClusterCel cel(client, clock, evaluator, store, tasks);
  StoreDecisions decisions(store, watch);
  Rollouts rollouts({client, clock, events, decisions}, 8);
  Membership membership(client, clock, {.hub_namespace = "hub"});
  std::set<std::string> trusted;
  for (size_t i = 0; i < kTrusted; ++i) trusted.insert(Cluster(i));
  FactCollector facts(client, clock, events,
                      {.hub_namespace = "hub", .is_trusted = [&](const std::string& cluster) {
                         return trusted.contains(cluster);
                       }});

  auto run_until = [&](const char* what, const std::function<bool()>& done) {
    while (!done()) ASSERT_GT(io.poll_one(), 0u) << what;
    std::cout << "figure: " << what << ": " << ResidentBytes() / kMiB << " MiB" << std::endl;
  };
  std::cout << "figure: at the start: " << ResidentBytes() / kMiB << " MiB\n";
  watch.Start(tasks);
  run_until("with what deciding reads", [&] { return store.complete(); });
  run_until("with ManagedClusters for CEL", [&] { return cel.Prepare(); });
  rollouts.Start(tasks);
  run_until("with rollouts", [&] { return rollouts.store().complete(); });
  membership.Start(tasks);
  run_until("with the membership", [&] {
    size_t known = membership.CountAvailable().available;
    return known == kClusters + 500;
  });
  facts.Start(tasks);
  run_until("with image facts", [&] { return client.facts_read() == kTrusted * 4; });
  io.poll();

  // They are full.
  for (BoundedWatch* bounded : watch.bounded())
    EXPECT_GT(bounded->left_out(), 0u) << bounded->resource().plural;
  EXPECT_GT(rollouts.fleets().left_out(), 0u);
  EXPECT_FALSE(rollouts.store().HasRoom("tenant-0"));

  size_t bytes = ResidentBytes() + kBetweenWatches;
  std::cout << "figure: the hub with full budgets: " << bytes / kMiB << " of "
            << (kMemoryLimit - kEvaluatorLimit) / kMiB << " MiB\n";
  EXPECT_LT(bytes, (kMemoryLimit - kEvaluatorLimit) / 10 * 6);

  kube::IgnoreError(kube::Run(io, tasks.Stop(clock, std::chrono::seconds(0))), "the test ends");
}

}  // namespace
}  // namespace fleet

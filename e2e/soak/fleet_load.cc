// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/fleet_load.h"

#include <filesystem>

#include "e2e/soak/create_object.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/testing/make_object.h"
#include "kube/client/read_file.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kCrds[] = "fleet/api/crds";
constexpr char kTeam[] = "soak-team";
constexpr char kSet[] = "soak";
// The agent's cluster is the first.
constexpr int kClusters = 20;
constexpr int kPlacements = 10;
constexpr char kScore[] = "arm64.cpu";
constexpr char kScores[] = "multiarch";
constexpr char kRollout[] = "web";
// Each program of the fleet has an address: other processes have those of pods.
constexpr char kHubAddress[] = "10.250.254.1";
constexpr char kAgentAddress[] = "10.250.254.2";
constexpr char kPort[] = "8080";

std::string ClusterName(int number) { return "c" + std::to_string(number); }

Json Scores(int value) {
  Json status;
  status["scores"] = Json::array({{{"name", kScore}, {"value", value}}});
  return {{"status", std::move(status)}};
}

// Selects some clusters by the score.
Json PlacementSpec(int number) {
  Json spec = kube::MustParseJson(R"({"prioritizerPolicy": {"mode": "Exact", "configurations": [
      {"weight": 10, "scoreCoordinate": {"type": "AddOn", "addOn": {
          "resourceName": "multiarch", "scoreName": "arm64.cpu"}}},
      {"weight": 1, "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}]}})");
  spec["numberOfClusters"] = 2 + number;
  return spec;
}

// Below the priorities of the configs that ConfigLoad has.
Json RolloutSpec(const std::string& ns, int weight) {
  Json config = {{"metadata", {{"name", "fleet"}, {"namespace", ns}}}};
  Json& spec = config["spec"];
  spec["priority"] = 1;
  spec["labelSelector"] = Json::object();
  Json& scoring = spec["plugins"]["nodeAffinityScoring"];
  scoring["enabled"] = true;
  scoring["platforms"] = Json::array({{{"architecture", "ppc64le"}, {"weight", weight}}});
  Json rollout;
  // Only the agent's cluster is selected: the others have no agent that answers.
  rollout["placements"] = Json::array({{{"name", "member"}}});
  rollout["podPlacementConfigs"] = Json::array({std::move(config)});
  return rollout;
}

}  // namespace

FleetLoad::FleetLoad(ProcessCluster& cluster, Options options)
    : cluster_(cluster),
      options_(std::move(options)),
      random_(static_cast<std::mt19937::result_type>(options_.seed)) {}

Result<> FleetLoad::Start() {
  std::error_code ec;
  std::filesystem::create_directories(options_.folder, ec);
  if (ec) return Error::Unavailable(options_.folder + ": " + ec.message());
  Result<> done = CreateCrds();
  if (done) done = CreateObjects();
  if (done) done = StartPrograms();
  return done;
}

Result<> FleetLoad::CreateCrds() {
  std::error_code ec;
  for (const auto& file : std::filesystem::directory_iterator(kCrds, ec)) {
    if (file.path().filename() == "kustomization.yaml") continue;
    Result<std::string> text = kube::ReadFile(file.path());
    if (!text) return text.error();
    Result<std::vector<Json>> crds = kube::ParseYamlDocuments(*text);
    if (!crds) return crds.error().Prefix(file.path().string());
    for (Json& crd : *crds) {
      Result<> created = CreateObject(cluster_, kube::kCustomResourceDefinitions, std::move(crd));
      if (!created) return created;
    }
  }
  if (ec) return Error::NotFound(std::string(kCrds) + ": " + ec.message());
  for (const kube::Resource& resource :
       {fleet::kManagedClusters, fleet::kManagedClusterSets, fleet::kManagedClusterSetBindings,
        fleet::kPlacements, fleet::kAddOnPlacementScores, fleet::kFleetPodPlacements}) {
    for (auto deadline = cluster_.clock().Now() + cluster_.timeout();; cluster_.Pause(100ms)) {
      auto listed = cluster_.Run(kube::ListObjects(cluster_.client(), resource, {}));
      if (listed) break;
      if (cluster_.clock().Now() > deadline)
        return listed.error().Prefix(std::string(resource.plural) + " are not served");
    }
  }
  return Ok();
}

Result<> FleetLoad::CreateObjects() {
  Result<> done = CreateObject(cluster_, kube::kNamespaces, fleet::MakeNamespace(kTeam));
  if (done) {
    done = CreateObject(cluster_, fleet::kManagedClusterSets,
                        fleet::MakeClusterSet(kSet, fleet::kSelectsAll));
  }
  if (done)
    done = CreateObject(cluster_, fleet::kManagedClusterSetBindings,
                        fleet::MakeSetBinding(kTeam, kSet));
  for (int number = 0; done && number < kClusters; ++number) {
    std::string name = ClusterName(number);
    done = CreateObject(cluster_, kube::kNamespaces, fleet::MakeNamespace(name));
    if (done) {
      done = CreateObject(
          cluster_, fleet::kManagedClusters,
          fleet::MakeManagedCluster(name).Label("soak", number == 0 ? "member" : "other"));
    }
    if (done && number > 0) {
      done = CreateObject(cluster_, fleet::kAddOnPlacementScores,
                          fleet::MakeObject(fleet::kAddOnPlacementScores, name, kScores));
    }
  }
  for (int number = 0; done && number < kPlacements; ++number) {
    done = CreateObject(cluster_, fleet::kPlacements,
                        fleet::MakeObject(fleet::kPlacements, kTeam, "p" + std::to_string(number))
                            .Set("/spec", PlacementSpec(number)));
  }
  if (!done) return done;
  Json member = fleet::MakeObject(fleet::kPlacements, kTeam, "member");
  member["spec"] = kube::MustParseJson(R"({"predicates": [{"requiredClusterSelector":
      {"labelSelector": {"matchLabels": {"soak": "member"}}}}]})");
  done = CreateObject(cluster_, fleet::kPlacements, std::move(member));
  if (!done) return done;
  return CreateObject(cluster_, fleet::kFleetPodPlacements,
                      fleet::MakeObject(fleet::kFleetPodPlacements, kTeam, kRollout)
                          .Set("/spec", RolloutSpec(options_.member_namespace, 10)));
}

Result<> FleetLoad::StartPrograms() {
  const std::string kubeconfig = cluster_.control_plane().admin_kubeconfig();
  auto add = [&](const std::string& name, const char* address, std::vector<std::string> args) {
    args.insert(args.end(), {"--kubeconfig=" + kubeconfig, "--namespace=" + std::string(kTeam),
                             "--health-address=" + std::string(address) + ":" + kPort});
    Program& program = programs_[name];
    program.spec = {.path = "fleet/" + name + "/" + name,
                    .args = std::move(args),
                    .log_file = options_.folder + "/" + name + ".log"};
    program.metrics = {.scheme = "http", .host = address, .port = kPort};
  };
  add("hub", kHubAddress, {"--placements=all", "--cel-evaluator=fleet/cel/evaluator/evaluator"});
  add("agent", kAgentAddress, {"--cluster=" + ClusterName(0), "--hub-kubeconfig=" + kubeconfig});
  for (auto& [name, program] : programs_) {
    auto started = ChildProcess::Start(program.spec);
    if (!started) return started.error().Prefix("start the " + name);
    program.process = std::move(*started);
  }
  return Ok();
}

boost::asio::awaitable<void> FleetLoad::Supervise() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> slept = co_await cluster_.clock().Sleep(500ms);
    if (!slept) co_return;
    for (auto& [name, program] : programs_) {
      if (program.process != nullptr && !program.process->ExitStatus()) continue;
      auto started = ChildProcess::Start(program.spec);
      if (!started) continue;
      program.process = std::move(*started);
      ++program.restarts;
    }
  }
}

boost::asio::awaitable<void> FleetLoad::Change() {
  co_await kube::IgnoreCancellation();
  for (int number = 0;; ++number) {
    Result<> slept = co_await cluster_.clock().Sleep(options_.change_every);
    if (!slept) co_return;
    Result<> changed = co_await ChangeOne(number);
    if (FailedWith(changed, kube::Code::kCancelled)) co_return;
    if (changed) ++changes_;  // else the API server is away
  }
}

Async<> FleetLoad::ChangeOne(int number) {
  constexpr int kRolloutEvery = 15;
  kube::Resource resource = fleet::kAddOnPlacementScores;
  kube::ObjectKey key{ClusterName(1 + Random(kClusters - 1)), kScores};
  std::string subresource = "status";
  Json patch = Scores(Random(101));
  if (number % kRolloutEvery == 0) {
    resource = fleet::kFleetPodPlacements;
    key = {kTeam, kRollout};
    subresource.clear();
    patch = {{"spec", RolloutSpec(options_.member_namespace, 1 + Random(100))}};
  }
  auto patched =
      co_await kube::PatchObject(cluster_.client(), resource, std::move(key), kube::kMergePatch,
                                 std::move(patch), std::move(subresource));
  if (!patched) co_return patched.error();
  co_return Ok();
}

}  // namespace e2e

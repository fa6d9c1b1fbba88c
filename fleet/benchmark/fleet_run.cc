// SPDX-License-Identifier: Apache-2.0
#include "fleet/benchmark/fleet_run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "api/conditions.h"
#include "benchmarks/create_many.h"
#include "e2e/cluster_harness/child_process.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/testing/make_object.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace benchmarks {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::TimePoint;
using kube::Unstructured;

namespace {

constexpr auto kTurn = 2ms;
constexpr auto kPollMetrics = 100ms;
// Events are sent when no Placement waits, or after three seconds.
constexpr auto kEventsSent = 5s;
constexpr int kRaisedScore = 100;
constexpr int kLoweredScore = 0;

double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }

// The object, and its status by a second call.
Async<> CreateWithStatus(kube::Client& client, kube::Resource resource, Json json) {
  Unstructured object(json);
  ObjectKey key = kube::KeyOf(object);
  auto created = co_await kube::CreateObject(client, resource, std::move(object));
  if (!created) co_return created.error().Prefix("create " + key.ToString());
  Json patch = {{"status", json["status"]}};
  std::string subresource = "status";
  auto written = co_await kube::PatchObject(client, resource, key, kube::kMergePatch,
                                            std::move(patch), std::move(subresource));
  if (!written) co_return written.error().Prefix("status of " + key.ToString());
  co_return Ok();
}

bool IsSatisfied(const fleet::Placement& placement) {
  const auto& conditions = placement.status.conditions;
  return std::any_of(conditions.begin(), conditions.end(), [](const api::Condition& condition) {
    return condition.type == fleet::kPlacementSatisfied && condition.status == "True";
  });
}

}  // namespace

std::string_view NameOf(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kTaint:
      return "taint";
    case ChangeKind::kLabel:
      return "label";
    case ChangeKind::kScore:
      return "score";
  }
  return "?";
}

FleetRun::FleetRun(e2e::FleetCluster& cluster, FleetOptions options)
    : cluster_(cluster),
      options_(options),
      model_(options.clusters, options.placements),
      requests_(cluster.plane().audit_log()),
      decisions_(cluster.client(), cluster.clock(), fleet::kPlacementDecisions, {},
                 [this](const std::string& type, const Json& decision) {
                   log_.On(type, decision);
                   OnWrite();
                 }),
      placements_(
          cluster.client(), cluster.clock(), fleet::kPlacements, {},
          [this](const std::string& type, const Json& placement) { OnPlacement(type, placement); }),
      tasks_(cluster.io().get_executor()) {}

FleetRun::~FleetRun() {
  kube::IgnoreError(cluster_.Run(tasks_.Stop(cluster_.clock(), 10s)), "the run ends");
}

void FleetRun::OnPlacement(const std::string& type, const Json& json) {
  Result<fleet::Placement> placement = fleet::Placement::FromJson(json);
  if (!placement) return;
  OnWrite();
  ObjectKey key{placement->ns, placement->name};
  if (type != "DELETED" && IsSatisfied(*placement)) {
    satisfied_[key] = placement->status.number_of_selected_clusters;
  } else {
    satisfied_.erase(key);
  }
}

Result<> FleetRun::Create() {
  Result<std::string> kubeconfig = cluster_.NewAdmin(e2e::FleetCluster::kHubAccount);
  if (!kubeconfig) return kubeconfig.error();
  hub_kubeconfig_ = std::move(*kubeconfig);
  kube::Client& client = cluster_.client();
  auto create = [&](kube::Resource resource, int count, auto make) {
    return CreateMany(cluster_, resource, count, make, options_.timeout);
  };
  Result<> created = cluster_.Create(fleet::kManagedClusterSets, FleetModel::Set());
  if (!created) return created;
  created = create(kube::kNamespaces, model_.namespaces(), [](int number) {
    return fleet::MakeNamespace(FleetModel::NamespaceName(number));
  });
  if (!created) return created;
  created = create(kube::kNamespaces, model_.clusters(), [](int number) {
    return fleet::MakeNamespace(FleetModel::ClusterName(number));
  });
  if (!created) return created;
  created = create(fleet::kManagedClusterSetBindings, model_.namespaces(),
                   [this](int number) { return model_.Binding(number); });
  if (!created) return created;
  created = CallMany(
      cluster_, model_.clusters(),
      [&](int number) {
        return CreateWithStatus(client, fleet::kManagedClusters, model_.Cluster(number));
      },
      options_.timeout);
  if (!created) return created.error().Prefix("ManagedCluster");
  created = CallMany(
      cluster_, model_.clusters(),
      [&](int number) {
        Json scores = FleetModel::Scores(number, FleetModel::BaseScore(number));
        return CreateWithStatus(client, fleet::kAddOnPlacementScores, std::move(scores));
      },
      options_.timeout);
  if (!created) return created.error().Prefix("AddOnPlacementScore");
  created = create(fleet::kPlacements, model_.placements(),
                   [this](int number) { return model_.Placement(number); });
  if (!created) return created;

  tasks_.Spawn("watch-decisions", decisions_.Run());
  tasks_.Spawn("watch-placements", placements_.Run());
  return cluster_.Await("the watches of the benchmark start",
                        [this] { return decisions_.synced() && placements_.synced(); });
}

Result<> FleetRun::Start() {
  requests_.Skip();
  log_.BeginChange();
  return cluster_.StartHub(hub_kubeconfig_, e2e::FleetCluster::kNamespace, {"--placements=all"});
}

Result<e2e::ProcessCost> FleetRun::HubCost() const {
  Result<> runs = cluster_.Runs("hub");
  if (!runs) return runs.error();
  return e2e::CostOf(cluster_.Program("hub")->pid());
}

Result<int64_t> FleetRun::HubPasses() {
  constexpr std::string_view kSeries =
      "controller_runtime_reconcile_total{controller=\"placement\"";
  Result<e2e::Finished> scraped =
      e2e::RunToEnd({.path = "curl",
                     .args = {"--silent", "--show-error", "--fail", "--noproxy", "*",
                              "http://" + cluster_.plane().host() + ":8080/metrics"}});
  if (!scraped) return scraped.error();
  if (scraped->status != 0) return Error::Unavailable("the hub's metrics: " + scraped->output);
  std::istringstream lines(scraped->output);
  int64_t passes = 0;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kSeries)) continue;
    found = true;
    if (line.find("result=\"error\"") == std::string::npos)
      passes += std::strtoll(line.c_str() + line.rfind(' '), nullptr, 10);
  }
  if (!found) return Error::Unavailable("the hub's metrics lack " + std::string(kSeries));
  return passes;
}

Result<Pass> FleetRun::FirstPass() {
  TimePoint start = cluster_.clock().Now();
  Result<> started = Start();
  if (!started) return started.error();
  size_t all = static_cast<size_t>(model_.placements());
  Result<Seen> seen = Await(
      start, [&] { return satisfied_.size() == all; }, "all Placements are satisfied");
  if (!seen) return seen.error();
  return Finish(seen->last_write - start);
}

Result<Pass> FleetRun::Restart() {
  Result<> stopped = cluster_.StopProgram("hub");
  if (!stopped) return stopped.error();
  TimePoint start = cluster_.clock().Now();
  Result<> started = Start();
  if (!started) return started.error();
  for (TimePoint deadline = start + options_.timeout;; cluster_.Pause(kPollMetrics)) {
    Result<int64_t> passes = HubPasses();
    if (passes && *passes >= model_.placements()) break;
    Result<> runs = cluster_.Runs("hub");
    if (!runs) return runs.error();
    if (cluster_.clock().Now() > deadline) {
      return Error::DeadlineExceeded(passes ? std::to_string(*passes) + " Placements are decided"
                                            : passes.error().message());
    }
  }
  return Finish(cluster_.clock().Now() - start);
}

Result<Pass> FleetRun::Finish(kube::Duration took) {
  Pass pass{.seconds = Seconds(took)};
  Result<e2e::ProcessCost> cost = HubCost();
  if (!cost) return cost.error();
  pass.cpu_seconds = Seconds(cost->cpu);
  cluster_.Pause(kEventsSent);
  Result<Writes> writes = TakeWrites();
  if (!writes) return writes.error();
  pass.writes = std::move(*writes);
  cost = HubCost();
  if (!cost) return cost.error();
  pass.cost = *cost;
  return pass;
}

Result<Writes> FleetRun::TakeWrites() {
  Result<std::vector<e2e::LoggedRequest>> requests = requests_.Read();
  if (!requests) return requests.error();
  Writes writes;
  for (const e2e::LoggedRequest& request : *requests) {
    if (request.account == e2e::FleetCluster::kHubAccount && request.IsWrite() &&
        request.resource != kube::kLeases.plural)
      ++writes[request.verb + " " + request.resource];
  }
  return writes;
}

Result<FleetRun::Seen> FleetRun::Await(TimePoint start, const std::function<bool()>& holds,
                                       const std::string& what) {
  kube::Clock& clock = cluster_.clock();
  std::optional<TimePoint> decided;
  int64_t looked_at = -1;
  for (TimePoint deadline = start + options_.timeout;; cluster_.Pause(kTurn)) {
    // Only a write can change the result.
    if (!decided && written_ != looked_at && holds()) decided = last_write_;
    looked_at = written_;
    if (decided && last_write_ > start && clock.Now() - last_write_ > options_.quiet) {
      if (holds()) return Seen{*decided, last_write_};
      return Error::Invalid("no longer true: " + what);
    }
    Result<> runs = cluster_.Runs("hub");
    if (!runs) return runs.error();
    if (clock.Now() > deadline) return Error::DeadlineExceeded("not yet: " + what);
  }
}

Result<ChangeTimes> FleetRun::Change(ChangeKind kind, int changes) {
  std::vector<kube::Duration> decided;
  std::vector<kube::Duration> last_write;
  int64_t written = 0;
  for (int number = 0; number < changes; ++number) {
    log_.BeginChange();
    int64_t before = written_;
    TimePoint start = cluster_.clock().Now();
    Result<Seen> seen = kind == ChangeKind::kTaint   ? ChangeTaint(number, start)
                        : kind == ChangeKind::kLabel ? ChangeLabel(number, start)
                                                     : ChangeScore(number, start);
    if (!seen) return seen.error();
    decided.push_back(seen->decided - start);
    last_write.push_back(seen->last_write - start);
    written += written_ - before;
  }
  std::sort(decided.begin(), decided.end());
  std::sort(last_write.begin(), last_write.end());
  return ChangeTimes{.changes = changes,
                     .decided = Times::Of(decided),
                     .last_write = Times::Of(last_write),
                     .mean_writes = static_cast<double>(written) / std::max(1, changes)};
}

// Every second change removes the taint of the one before.
Result<FleetRun::Seen> FleetRun::ChangeTaint(int number, TimePoint start) {
  int cluster = (7 + number / 2 * 53) % model_.clusters();
  bool tainted = number % 2 == 0;
  Json taints = Json::array();
  if (tainted) taints.push_back({{"key", "benchmark"}, {"effect", "NoSelect"}});
  std::string name = FleetModel::ClusterName(cluster);
  Result<> patched = cluster_.Patch(fleet::kManagedClusters, {"", name},
                                    {{"spec", {{"taints", std::move(taints)}}}});
  if (!patched) return patched.error();
  model_.SetTaint(cluster, tainted);
  auto holds = [&] { return tainted ? log_.EntriesOf(name) == 0 : RightAbout(cluster); };
  return Await(start, holds, (tainted ? "no decision has " : "all decisions have ") + name);
}

Result<FleetRun::Seen> FleetRun::ChangeLabel(int number, TimePoint start) {
  int cluster = (13 + number * 59) % model_.clusters();
  std::string name = FleetModel::ClusterName(cluster);
  std::string region = model_.MoveToNextRegion(cluster);
  Json labels = {{FleetModel::kRegionLabel, region}};
  Result<> patched = cluster_.Patch(fleet::kManagedClusters, {"", name},
                                    {{"metadata", {{"labels", std::move(labels)}}}});
  if (!patched) return patched.error();
  return Await(
      start, [&] { return RightAbout(cluster); }, name + " is in the decisions of " + region);
}

// Every second change lowers the score that the one before has raised.
Result<FleetRun::Seen> FleetRun::ChangeScore(int number, TimePoint start) {
  bool raise = number % 2 == 0;
  if (raise) {
    raised_ = (29 + number * 61) % model_.clusters();
    while (!SelectedByScore(raised_, false)) raised_ = (raised_ + 1) % model_.clusters();
  }
  std::string name = FleetModel::ClusterName(raised_);
  Json scores = FleetModel::Scores(raised_, raise ? kRaisedScore : kLoweredScore);
  ObjectKey key{name, kube::StringAt(scores, "metadata.name")};
  Result<> patched = cluster_.Patch(fleet::kAddOnPlacementScores, std::move(key),
                                    {{"status", std::move(scores["status"])}}, "status");
  if (!patched) return patched.error();
  return Await(
      start, [&] { return SelectedByScore(raised_, raise); },
      name + (raise ? " is" : " is not") + " among those with the best scores");
}

bool FleetRun::RightAbout(int cluster) const {
  std::string name = FleetModel::ClusterName(cluster);
  for (int placement = 0; placement < model_.placements(); ++placement) {
    if (FleetModel::KindOf(placement) == Selects::kTopScores) continue;
    if (log_.Selects(model_.PlacementKey(placement), name) != model_.MustSelect(placement, cluster))
      return false;
  }
  return true;
}

bool FleetRun::SelectedByScore(int cluster, bool selected) const {
  std::string name = FleetModel::ClusterName(cluster);
  std::vector<int> readers = model_.ByScore(cluster);
  return std::all_of(readers.begin(), readers.end(), [&](int placement) {
    return log_.Selects(model_.PlacementKey(placement), name) == selected;
  });
}

Result<Rest> FleetRun::AtRest(std::chrono::seconds time) {
  cluster_.Pause(kEventsSent);
  requests_.Skip();
  Result<e2e::ProcessCost> before = HubCost();
  if (!before) return before.error();
  cluster_.Pause(time);
  Result<e2e::ProcessCost> after = HubCost();
  if (!after) return after.error();
  Result<Writes> writes = TakeWrites();
  if (!writes) return writes.error();
  return Rest{.cpu_ms_per_minute =
                  Seconds(after->cpu - before->cpu) * 1000 * 60 / static_cast<double>(time.count()),
              .writes = std::move(*writes)};
}

Result<> FleetRun::Verify() {
  if (decisions_.gaps() > 0 || placements_.gaps() > 0)
    return Error::Invalid("the watches of the benchmark had gaps");
  auto listed = cluster_.Run(kube::ListObjects(cluster_.client(), fleet::kPlacementDecisions, {}));
  if (!listed) return listed.error();
  e2e::DecisionLog stored;
  for (const Unstructured& decision : listed->items) stored.On("ADDED", decision.body());
  for (int placement = 0; placement < model_.placements(); ++placement) {
    ObjectKey key = model_.PlacementKey(placement);
    const auto& clusters = stored.Of(key);
    if (clusters != log_.Of(key))
      return Error::Invalid(key.ToString() + ": the watch and a list do not agree");
    auto count = static_cast<int>(clusters.size());
    int wanted = model_.SelectedCount(placement);
    auto status = satisfied_.find(key);
    if (count != wanted || status == satisfied_.end() || status->second != wanted) {
      return Error::Invalid(key.ToString() + " has " + std::to_string(count) + " clusters, not " +
                            std::to_string(wanted));
    }
    bool once = std::all_of(clusters.begin(), clusters.end(),
                            [](const auto& cluster) { return cluster.second == 1; });
    if (!once) return Error::Invalid(key.ToString() + " has a cluster twice");
  }
  return Ok();
}

}  // namespace benchmarks

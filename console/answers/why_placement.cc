// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "console/answers/each_object.h"
#include "console/answers/fleet.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/deploy/explain_text.h"
#include "fleet/hub/debug_answer.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/placement_reads.h"
#include "fleet/scheduling/cel_selectors.h"
#include "fleet/scheduling/schedule.h"
#include "kube/client/typed.h"
#include "plugin/pod/answer_parts.h"

namespace console {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;

constexpr char kHasCel[] =
    "this Placement selects clusters by CEL, which the console does not evaluate: `bazel run "
    "//fleet:explain` does";

// For Placements without CEL.
class NoCel final : public fleet::CelSelectors {
 public:
  std::optional<std::string> Check(const std::string&) override { return kHasCel; }
  Verdict Matches(const std::vector<std::string>&, const std::string&) override { return {}; }
};

// Puts all objects of a kind into the store.
template <class T>
Async<> Read(kube::Client& client, const kube::Resource& resource, const std::string& ns,
             fleet::FleetStore& store, std::vector<plugin::Unread>& unread) {
  kube::ListOptions options{.ns = ns};
  const VisitObject put = [&](const Json& object) {
    auto parsed = T::FromJson(object);
    if (parsed) store.Put(std::move(*parsed));
  };
  Result<> read = co_await ForEachObject(client, resource, std::move(options), put);
  if (!read) unread.push_back({std::string(resource.plural), read.error().message()});
  co_return kube::Ok();
}

Json Explain(const fleet::Placement& placement, const fleet::FleetStore& store,
             kube::WallTime now) {
  Json answer = {{"clusters", Json::array()}, {"error", ""}};
  const kube::ObjectKey key{placement.ns, placement.name};
  const fleet::DecisionCounts& own = store.decisions().OwnOf(key);
  std::set<std::string> selected;
  for (const auto& [cluster, entries] : own) selected.insert(cluster);
  if (fleet::PlacementReads(placement.spec).whole_object()) {
    answer["error"] = kHasCel;
    for (const std::string& cluster : selected)
      answer["clusters"].push_back({{"name", cluster}, {"selected", true}, {"why", ""}});
    return answer;
  }
  NoCel cel;
  const fleet::Scheduled scheduled = Schedule(placement, own, store.fleet(), now, cel);
  const Json debug = fleet::DebugAnswer(placement, scheduled);
  answer["error"] = kube::StringAt(debug, "error");
  for (const fleet::ExplainedCluster& one : fleet::ExplainClusters(debug, selected)) {
    Json line = {{"name", one.name}, {"selected", one.selected}, {"why", one.why}};
    if (one.score) line["score"] = *one.score;
    answer["clusters"].push_back(std::move(line));
  }
  return answer;
}

}  // namespace

Async<std::string> AnswerWhyPlacement(const Question& question) {
  Result<std::string> ns = question.query.RequiredName("namespace");
  if (!ns) co_return ns.error();
  Result<std::string> name = question.query.RequiredName("name");
  if (!name) co_return name.error();
  kube::ObjectKey key{*ns, *name};
  auto object = co_await kube::GetObject(question.client, fleet::kPlacements, std::move(key));
  if (!object) co_return object.error();
  Result<fleet::Placement> placement = fleet::Placement::FromJson(object->body());
  if (!placement) co_return placement.error();

  fleet::FleetStore store(question.clock, [](const kube::ObjectKey&) {});
  store.Put(*placement);
  std::vector<plugin::Unread> unread;
  const std::string all;
  kube::Client& client = question.client;
  Result<> read = co_await Read<fleet::ManagedClusterSet>(client, fleet::kManagedClusterSets, all,
                                                          store, unread);
  if (read)
    read = co_await Read<fleet::ManagedClusterSetBinding>(client, fleet::kManagedClusterSetBindings,
                                                          *ns, store, unread);
  if (read)
    read =
        co_await Read<fleet::ManagedCluster>(client, fleet::kManagedClusters, all, store, unread);
  if (read)
    read = co_await Read<fleet::AddOnPlacementScore>(client, fleet::kAddOnPlacementScores, all,
                                                     store, unread);
  // Balance counts the decisions of all namespaces.
  if (read)
    read = co_await Read<fleet::PlacementDecision>(client, fleet::kPlacementDecisions, all, store,
                                                   unread);
  if (!read) co_return read.error();
  Json answer = Explain(*placement, store, question.clock.WallNow());
  answer["unread"] = plugin::AsJson(unread);
  co_return kube::DumpJson(answer);
}

}  // namespace console

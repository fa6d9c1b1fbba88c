// SPDX-License-Identifier: Apache-2.0
#include "console/answers/fleet.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "console/answers/bounded_lines.h"
#include "console/answers/each_object.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"
#include "plugin/pod/answer_parts.h"

namespace console {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;

// Of each of the three lists.
constexpr size_t kMaxBytes = 2 * 1024 * 1024;
// Of the clusters of a Placement, for people.
constexpr size_t kMaxSelectedShown = 20;
// The claims of the agents: "arm64.multiarch.openshift.io".
constexpr std::string_view kClaimSuffix = ".multiarch.openshift.io";

// Visits all objects of a kind. What may not be read is added to `unread`.
Async<> ForEach(kube::Client& client, const kube::Resource& resource, const std::string& ns,
                const VisitObject& visit, std::vector<plugin::Unread>& unread) {
  kube::ListOptions options{.ns = ns};
  Result<> read = co_await ForEachObject(client, resource, std::move(options), visit);
  if (!read && !IsNotFound(read))
    unread.push_back({std::string(resource.plural), read.error().message()});
  co_return kube::Ok();
}

Json ClusterLine(const Json& object) {
  Json line = {{"name", kube::StringAt(object, "metadata.name")},
               {"available", nullptr},
               {"reason", ""},
               {"architectures", Json::array()},
               {"labels", kube::ObjectAt(object, "metadata.labels")},
               {"taints", Json::array()}};
  for (const Json& condition : kube::ListAt(object, "status.conditions")) {
    if (kube::StringAt(condition, "type") != fleet::kClusterAvailable) continue;
    const std::string status = kube::StringAt(condition, "status");
    if (status != "Unknown") line["available"] = status == "True";
    line["reason"] = kube::StringAt(condition, "message");
  }
  for (const Json& claim : kube::ListAt(object, "status.clusterClaims")) {
    const std::string name = kube::StringAt(claim, "name");
    if (name.ends_with(kClaimSuffix))
      line["architectures"].push_back(name.substr(0, name.size() - kClaimSuffix.size()));
  }
  for (const Json& taint : kube::ListAt(object, "spec.taints")) {
    const std::string value = kube::StringAt(taint, "value");
    line["taints"].push_back(kube::StringAt(taint, "key") + (value.empty() ? "" : "=" + value) +
                             ":" + kube::StringAt(taint, "effect"));
  }
  return line;
}

Json Conditions(const Json& object) {
  Json conditions = Json::array();
  for (const Json& condition : kube::ListAt(object, "status.conditions"))
    conditions.push_back({{"type", kube::StringAt(condition, "type")},
                          {"status", kube::StringAt(condition, "status")},
                          {"reason", kube::StringAt(condition, "reason")},
                          {"message", kube::StringAt(condition, "message")}});
  return conditions;
}

struct Selected {
  size_t count = 0;
  std::vector<std::string> first;
};
// By namespace and name of the Placement.
using Decisions = std::map<std::pair<std::string, std::string>, Selected>;

void AddDecision(const Json& object, Decisions& decisions) {
  auto decision = fleet::PlacementDecision::FromJson(object);
  if (!decision || decision->placement.empty()) return;
  Selected& selected = decisions[{decision->ns, decision->placement}];
  for (const fleet::Decision& one : decision->decisions) {
    if (selected.count++ < kMaxSelectedShown) selected.first.push_back(one.cluster);
  }
}

Json PlacementLine(const Json& object, const Decisions& decisions) {
  const std::string ns = kube::StringAt(object, "metadata.namespace");
  const std::string name = kube::StringAt(object, "metadata.name");
  Json line = {{"namespace", ns},
               {"name", name},
               {"selected", Json::array()},
               {"selectedCount", 0},
               {"conditions", Conditions(object)}};
  if (kube::Find(object, "spec.numberOfClusters") != nullptr)
    line["wanted"] = kube::IntAt(object, "spec.numberOfClusters");
  auto found = decisions.find({ns, name});
  if (found == decisions.end()) return line;
  line["selected"] = found->second.first;
  line["selectedCount"] = found->second.count;
  return line;
}

Json RolloutLine(const Json& object) {
  std::string placements;
  for (const Json& one : kube::ListAt(object, "spec.placements"))
    placements += (placements.empty() ? "" : ", ") + kube::StringAt(one, "name");
  Json line = {
      {"namespace", kube::StringAt(object, "metadata.namespace")},
      {"name", kube::StringAt(object, "metadata.name")},
      {"placement", placements},
      {"clusters", kube::IntAt(object, "status.total")},
      {"applied", kube::IntAt(object, "status.succeeded")},
      {"failed", kube::IntAt(object, "status.failed") + kube::IntAt(object, "status.timedOut")},
      {"problems", Json::array()}};
  for (const Json& condition : kube::ListAt(object, "status.conditions")) {
    if (kube::StringAt(condition, "status") == "True") continue;
    line["problems"].push_back(kube::StringAt(condition, "type") + ": " +
                               kube::StringAt(condition, "reason") + ": " +
                               kube::StringAt(condition, "message"));
  }
  for (const Json& failure : kube::ListAt(object, "status.failures"))
    line["problems"].push_back(kube::StringAt(failure, "clusterName") + ": " +
                               kube::StringAt(failure, "reason") + ": " +
                               kube::StringAt(failure, "message"));
  return line;
}

}  // namespace

Async<std::string> AnswerFleet(const Question& question) {
  Result<std::string> ns = question.query.Namespace();
  if (!ns) co_return ns.error();
  const plugin::ByteBudget budget = BudgetFor(kMaxBytes, *ns);
  BoundedLines clusters({.in_all = kMaxBytes}), placements(budget), rollouts(budget);
  Decisions decisions;
  std::vector<plugin::Unread> unread;

  const VisitObject add_cluster = [&](const Json& object) {
    clusters.Add("", ClusterLine(object));
  };
  const VisitObject add_decision = [&](const Json& object) { AddDecision(object, decisions); };
  const VisitObject add_placement = [&](const Json& object) {
    placements.Add(kube::StringAt(object, "metadata.namespace"), PlacementLine(object, decisions));
  };
  const VisitObject add_rollout = [&](const Json& object) {
    rollouts.Add(kube::StringAt(object, "metadata.namespace"), RolloutLine(object));
  };
  const std::string all;
  kube::Client& client = question.client;
  Result<> read = co_await ForEach(client, fleet::kManagedClusters, all, add_cluster, unread);
  if (read) read = co_await ForEach(client, fleet::kPlacementDecisions, *ns, add_decision, unread);
  if (read) read = co_await ForEach(client, fleet::kPlacements, *ns, add_placement, unread);
  if (read) read = co_await ForEach(client, fleet::kFleetPodPlacements, *ns, add_rollout, unread);
  if (!read) co_return read.error();
  const Json rest = {{"leftOut", clusters.left_out() + placements.left_out() + rollouts.left_out()},
                     {"unread", plugin::AsJson(unread)}};
  std::string answer = WithMember(kube::DumpJson(rest), "clusters", clusters.Text());
  answer = WithMember(std::move(answer), "placements", placements.Text());
  co_return WithMember(std::move(answer), "rollouts", rollouts.Text());
}

}  // namespace console

// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/fleet_story.h"

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "e2e/framework/resources.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/names.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"

namespace e2e {
namespace {

using kube::Json;
using Texts = std::vector<std::string>;

// Begins the facts that also matter when they end.
constexpr char kTaint[] = "taint ";

// The elements of a list; none if there is no list at the path.
std::vector<Json> ListAt(const Json& object, std::string_view path) {
  const Json* list = kube::Find(object, path);
  if (list == nullptr || !list->is_array()) return {};
  return list->get<std::vector<Json>>();
}

std::string Join(const Texts& texts, const std::string& separator) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : separator) + text;
  return joined;
}

std::string LabelAt(const Json& object, std::string_view label) {
  const Json* labels = kube::Find(object, "metadata.labels");
  if (labels == nullptr || !labels->is_object()) return "";
  auto found = labels->find(label);
  return found != labels->end() && found->is_string() ? found->get<std::string>() : "";
}

// For a Placement, the demo prints which clusters it selects, and their scores.
bool IsOfPlacement(const kube::Resource& resource) {
  return resource.plural == fleet::kPlacementDecisions.plural || resource.plural == kEvents.plural;
}

// "Placement team/web", "ManagedCluster east".
std::string SubjectOf(const kube::Resource& resource, const Json& object) {
  std::string ns = kube::StringAt(object, "metadata.namespace");
  std::string kind(resource.kind);
  std::string name = kube::StringAt(object, "metadata.name");
  if (IsOfPlacement(resource)) kind = "Placement";
  if (resource.plural == fleet::kPlacementDecisions.plural)
    name = LabelAt(object, fleet::kPlacementLabel);
  if (resource.plural == kEvents.plural) name = kube::StringAt(object, "involvedObject.name");
  return kind + " " + (ns.empty() ? "" : ns + "/") + name;
}

Texts ClusterFacts(const Json& cluster) {
  Texts facts;
  for (const Json& condition : ListAt(cluster, "status.conditions")) {
    facts.push_back(kube::StringAt(condition, "type") + " " + kube::StringAt(condition, "status"));
  }
  for (const Json& taint : ListAt(cluster, "spec.taints"))
    facts.push_back(kTaint + kube::StringAt(taint, "key") + ":" + kube::StringAt(taint, "effect"));
  std::string cores = kube::StringAt(cluster, "status.allocatable.cpu");
  if (!cores.empty()) facts.push_back(cores + " cores");
  Texts claims;
  for (const Json& claim : ListAt(cluster, "status.clusterClaims"))
    claims.push_back(kube::StringAt(claim, "name"));
  if (!claims.empty()) facts.push_back("claims " + Join(claims, ", "));
  return facts;
}

Texts ScoreFacts(const Json& scores) {
  if (kube::Find(scores, "status.scores") == nullptr) return {};
  std::string text = CpuScoresText(scores);
  return {text.empty() ? "no architecture" : text};
}

Texts DecisionFacts(const Json& decision) {
  if (kube::Find(decision, "status.decisions") == nullptr) return {};
  Texts clusters = ClustersOf(decision);
  return {clusters.empty() ? "selects no cluster" : "selects " + Join(clusters, ", ")};
}

// The scores that a decision was made by: "scores east:50 west:75".
Texts EventFacts(const Json& event) {
  if (kube::StringAt(event, "reason") != "ScoreUpdate") return {};
  std::string message = kube::StringAt(event, "message");
  while (message.ends_with(' ')) message.pop_back();
  return {"scores " + message};
}

// What the agent answered about the objects that the work has now.
Texts WorkFacts(const Json& work) {
  std::string phase = kube::StringAt(work, "status.phase");
  if (phase.empty() || kube::StringAt(work, "status.hash") != kube::StringAt(work, "spec.hash"))
    return {};
  std::string message;
  for (const Json& condition : ListAt(work, "status.conditions")) {
    if (kube::StringAt(condition, "type") == fleet::kSucceededCondition)
      message = kube::StringAt(condition, "message");
  }
  return {message.empty() ? phase : phase + ": " + message};
}

Texts RolloutFacts(const Json& rollout) {
  Texts facts;
  for (const Json& condition : ListAt(rollout, "status.conditions")) {
    if (kube::StringAt(condition, "type") == fleet::kAccepted &&
        kube::StringAt(condition, "status") == "False")
      facts.push_back("not accepted: " + kube::StringAt(condition, "message"));
  }
  if (kube::StringAt(rollout, "status.hash").empty()) return facts;
  auto count = [&rollout](const char* name) {
    return kube::IntAt(rollout, std::string("status.") + name);
  };
  std::string text = std::to_string(count("succeeded")) + " of " + std::to_string(count("total")) +
                     " clusters succeeded";
  for (const auto& [name, shown] :
       std::vector<std::pair<const char*, const char*>>{{"progressing", "progressing"},
                                                        {"failed", "failed"},
                                                        {"timedOut", "timed out"},
                                                        {"removing", "being cleaned"}}) {
    if (count(name) > 0) text += ", " + std::to_string(count(name)) + " " + shown;
  }
  facts.push_back(text);
  return facts;
}

Texts ConfigFacts(const Json& config) {
  return IsTrue(config, api::kAvailable) ? Texts{"Available"} : Texts{};
}

Texts FactsOf(const kube::Resource& resource, const Json& object) {
  if (object.is_null()) return {};
  if (resource.plural == fleet::kManagedClusters.plural) return ClusterFacts(object);
  if (resource.plural == fleet::kAddOnPlacementScores.plural) return ScoreFacts(object);
  if (resource.plural == fleet::kPlacementDecisions.plural) return DecisionFacts(object);
  if (resource.plural == kEvents.plural) return EventFacts(object);
  if (resource.plural == fleet::kPodPlacementWorks.plural) return WorkFacts(object);
  if (resource.plural == fleet::kFleetPodPlacements.plural) return RolloutFacts(object);
  if (resource.plural == kConfigs.plural || resource.plural == kClusterConfigs.plural)
    return ConfigFacts(object);
  return {};
}

}  // namespace

Texts FleetSteps(const kube::Resource& resource, const Json& before, const Json& after) {
  // For a Placement, the demo prints only what it selects.
  const bool exists = !IsOfPlacement(resource);
  std::string subject = SubjectOf(resource, after.is_null() ? before : after) + ": ";
  Texts steps;
  if (before.is_null() && exists) steps.push_back(subject + "created");
  const Texts known = FactsOf(resource, before);
  const Texts facts = FactsOf(resource, after);
  auto is_in = [](const std::string& fact, const Texts& texts) {
    return std::find(texts.begin(), texts.end(), fact) != texts.end();
  };
  for (const std::string& fact : facts) {
    if (!is_in(fact, known)) steps.push_back(subject + fact);
  }
  for (const std::string& fact : known) {
    if (!after.is_null() && fact.starts_with(kTaint) && !is_in(fact, facts))
      steps.push_back(subject + "no " + fact);
  }
  if (after.is_null() && exists) steps.push_back(subject + "deleted");
  return steps;
}

std::string CpuScoresText(const Json& scores) {
  Texts texts;
  for (const Json& score : ListAt(scores, "status.scores")) {
    std::string name = kube::StringAt(score, "name");
    if (name.ends_with(".cpu"))
      texts.push_back(name + " " + std::to_string(kube::IntAt(score, "value")));
  }
  return Join(texts, ", ");
}

int64_t ScoreOf(const Json& scores, const std::string& name) {
  for (const Json& score : ListAt(scores, "status.scores")) {
    if (kube::StringAt(score, "name") == name) return kube::IntAt(score, "value");
  }
  return 0;
}

Texts ClustersOf(const Json& decision) {
  Texts clusters;
  for (const Json& entry : ListAt(decision, "status.decisions"))
    clusters.push_back(kube::StringAt(entry, "clusterName"));
  return clusters;
}

bool IsTrue(const Json& object, std::string_view type) {
  for (const Json& condition : ListAt(object, "status.conditions")) {
    if (kube::StringAt(condition, "type") == type)
      return kube::StringAt(condition, "status") == "True";
  }
  return false;
}

}  // namespace e2e

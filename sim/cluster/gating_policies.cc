// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/gating_policies.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "api/excluded_namespaces.h"
#include "api/known_images.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/types/kinds.h"
#include "operator/objects/gating_policies.h"
#include "placement/gating.h"
#include "sim/cluster/match_conditions.h"
#include "sim/cluster/review.h"
#include "sim/cluster/selectors.h"
#include "sim/cluster/webhook_match.h"
#include "webhook/gate_patch.h"
#include "webhook/pod_review.h"

namespace sim {
namespace {

using kube::AdmissionAttributes;
using kube::Json;
using placement::GateDecision;

constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
// kMaxListedConfigs of operator/objects/gating_policies.cc.
constexpr int kMaxListedConfigs = 8;

// A write that policies change.
struct Write {
  const AdmissionAttributes& asked;
  const Json& ns;
  Json object;
  bool changed = false;
};

std::string MapAt(const Json& object, const char* path, std::string_view key) {
  const Json* map = kube::Find(object, path);
  return map == nullptr ? "" : map->value(std::string(key), "");
}

bool HasCondition(const Json& policy, const char* name) {
  const Json* conditions = kube::Find(policy, "spec.matchConditions");
  return conditions != nullptr &&
         std::any_of(conditions->begin(), conditions->end(),
                     [name](const Json& condition) { return condition["name"] == name; });
}

// All conditions but those about a parameter.
bool MeetsConditionsOfPod(const Json& policy, const Write& write) {
  static const std::set<std::string> kOfParameter = {"gated-by-policy", "lists-few-configs",
                                                     "selected", "not-constrained-by-the-user"};
  for (const Json& condition : policy["spec"].value("matchConditions", Json::array())) {
    if (kOfParameter.contains(condition["name"])) continue;
    if (!Holds(condition, write.asked, write.object)) return false;
  }
  return true;
}

// Whether a policy and its binding select the request.
bool Matches(const Json& policy, const Json& binding, const Write& write) {
  const Json& constraints = policy["spec"]["matchConstraints"];
  return MatchesRules(constraints["resourceRules"], write.asked) &&
         MatchesSelectors(constraints, write.asked, write.object, write.ns) &&
         MatchesSelectors(binding["spec"]["matchResources"], write.asked, write.object, write.ns);
}

void Apply(const std::string& patch, Write& write) {
  if (patch.empty()) return;
  write.object = write.object.patch(kube::MustParseJson(patch));
  write.changed = true;
}

// Calls `decide` with the pod as the webhook would read it.
template <class Decide>
void Review(Write& write, const Decide& decide) {
  webhook::PodReviewReader reader;
  const std::string body = kube::DumpJson(ReviewOf("policy", write.asked, write.object));
  kube::Result<webhook::PodReview> review = reader.Read(body);
  CHECK(review) << review.error();
  std::string patch = decide(*review);
  Apply(patch, write);
}

// The names of excluded namespaces are prefixes in the variable "excluded".
bool IsExcluded(const Json& policy, const Write& write) {
  for (const Json& variable : policy["spec"].value("variables", Json::array())) {
    if (variable["name"] != "excluded") continue;
    const std::string expression = variable["expression"];
    // Before that is the label by which a namespace is included.
    const std::vector<std::string> prefixes =
        QuotedIn(expression.substr(0, expression.find(") &&")));
    const Json labels = LabelsOf(write.ns);
    if (labels.is_object() && labels.contains(std::string(api::kIncludeLabel))) return false;
    return std::any_of(prefixes.begin(), prefixes.end(), [&write](const std::string& prefix) {
      return write.asked.key.ns.starts_with(prefix);
    });
  }
  return false;
}

// --- Pods of known images (operator/objects/known_images_cel.h).

// A literal of a policy. Its strings have no quotes and no parentheses.
Json JsonOf(std::string cel) {
  for (size_t at; (at = cel.find("dyn(")) != std::string::npos;) cel.erase(at, 4);
  std::erase(cel, ')');
  std::replace(cel.begin(), cel.end(), '\'', '"');
  return kube::MustParseJson(cel);
}

// The literal of the variable; null if the policy has none.
Json LiteralOf(const Json& policy, const char* name) {
  for (const Json& variable : policy["spec"].value("variables", Json::array())) {
    if (variable["name"] == name) return JsonOf(variable["expression"]);
  }
  return Json();
}

bool HasOwnKey(const Json& object, const char* path) {
  const Json* map = kube::Find(object, path);
  if (map == nullptr) return false;
  for (const auto& [key, value] : map->items()) {
    if (key.starts_with(api::kLabelPrefix)) return true;
  }
  return false;
}

// Only its images and the ClusterPodPlacementConfig decide about the pod.
bool IsSimple(const Json& pod) {
  const Json& spec = pod["spec"];
  for (const Json& volume : spec.value("volumes", Json::array())) {
    if (volume.contains("image")) return false;
  }
  const Json selector = spec.value("nodeSelector", Json::object());
  for (const auto& [key, value] : selector.items()) {
    if (key.find("kubernetes.io/") != std::string::npos) return false;
  }
  return spec.value("schedulingGates", Json::array()).empty() && !spec.contains("os") &&
         kube::Find(pod, "spec.affinity.nodeAffinity") == nullptr &&
         !HasOwnKey(pod, "metadata.labels") && !HasOwnKey(pod, "metadata.annotations");
}

// The letters of its images; "" if one is not known.
std::string LettersOf(const Json& pod, const Json& images) {
  std::set<std::string> letters;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : pod["spec"].value(list, Json::array())) {
      const std::string image = container.value("image", "");
      const std::string policy = container.value("imagePullPolicy", "");
      const bool counts =
          policy == "IfNotPresent" || (policy == "Always" && image.find('@') != std::string::npos);
      if (!counts || !images.contains(image)) return "";
      letters.insert(images[image].get<std::string>());
    }
  }
  std::string text;
  for (const std::string& letter : letters) text += letter;
  return text;
}

// Places the pod; false if it is to be gated.
bool PlaceKnown(const Json& policy, Write& write) {
  const Json images = LiteralOf(policy, "images");
  if (images.is_null() || !IsSimple(write.object)) return false;
  for (const Json& ns : LiteralOf(policy, "configured")) {
    if (ns == write.asked.key.ns) return false;
  }
  const std::string letters = LettersOf(write.object, images);
  const Json combinations = LiteralOf(policy, "combinations");
  if (!combinations.contains(letters)) return false;
  const Json placement = LiteralOf(policy, "placements").at(combinations[letters].get<size_t>());
  const std::string pod_images = ImagesOf(write.object);
  write.object["spec"]["affinity"]["nodeAffinity"] = placement["nodeAffinity"];
  write.object["metadata"]["labels"].update(placement["labels"]);
  Json& annotations = write.object["metadata"]["annotations"];
  annotations.update(placement["annotations"]);
  annotations[std::string(api::kPlacedForAnnotation)] = pod_images;
  write.changed = true;
  return true;
}

// A copy of a placed pod, or one that got another image after it was placed.
bool GateAgain(const Json& policy, Write& write) {
  const std::string placed(api::kPlacedAtCreationLabel);
  const Json* labels = kube::Find(write.object, "metadata.labels");
  if (LiteralOf(policy, "images").is_null() || labels == nullptr || !labels->contains(placed) ||
      HasGate(write.object, api::kClusterGate))
    return false;
  write.object["metadata"]["labels"].erase(placed);
  write.object["metadata"]["labels"][std::string(api::kClusterGateLabel)] = api::kGated;
  write.object["spec"]["schedulingGates"].push_back({{"name", std::string(api::kClusterGate)}});
  write.changed = true;
  return true;
}

void AddClusterGate(const Json& policy, bool preferences, Write& write) {
  if (!MeetsConditionsOfPod(policy, write) || IsExcluded(policy, write)) return;
  if (GateAgain(policy, write) || PlaceKnown(policy, write)) return;
  Review(write, [preferences](const webhook::PodReview& review) {
    // Selectors exclude the operator's namespace.
    return webhook::ClusterPatch(review,
                                 placement::ShouldGateForCluster(review.pod, "", preferences));
  });
}

bool ListsEnoughConfigs(const Json& pod) {
  const std::string list = MapAt(pod, "metadata.annotations", api::kLocalConfigsAnnotation);
  const std::string label = MapAt(pod, "metadata.labels", api::kLocalGateLabel);
  return HasGate(pod, api::kLocalGate) && !label.empty() && !list.empty() &&
         std::count(list.begin(), list.end(), ',') + 1 >= kMaxListedConfigs;
}

// `config`: the parameter.
void AddLocalGate(const Json& policy, const Json& config, Write& write) {
  if (kube::StringAt(config, "status.gatedBy") != api::kGatedByPolicy) return;
  if (!MeetsConditionsOfPod(policy, write) || ListsEnoughConfigs(write.object)) return;
  const Json* selector = kube::Find(config, "spec.labelSelector");
  if (!Selects(selector == nullptr ? Json() : *selector, LabelsOf(write.object))) return;
  Review(write, [&](const webhook::PodReview& review) {
    const GateDecision decision =
        placement::ShouldGateLocally(review.pod, write.asked.key.ns, /*operator_namespace=*/"");
    return webhook::LocalPatch(review, decision, kube::StringAt(config, "metadata.name"));
  });
}

void AddLocalGates(const KnownObjects& known, Random& random, const Json& policy, Write& write) {
  std::vector<std::shared_ptr<const Json>> configs;
  for (const auto& [key, config] : known.Of(kConfigs.Path())) {
    if (key.ns == write.asked.key.ns) configs.push_back(config);
  }
  random.Shuffle(configs);
  for (const std::shared_ptr<const Json>& config : configs) AddLocalGate(policy, *config, write);
}

void AddProbe(const Json& policy, const Json& binding, Write& write) {
  const std::string key(operator_::kGatingProbeAnnotation);
  const Json& labels = binding["spec"]["matchResources"]["objectSelector"]["matchLabels"];
  const std::string hash = labels.at(key);
  // The two are read independently.
  const std::vector<std::string> quoted = QuotedIn(kube::DumpJson(policy["spec"]["mutations"]));
  if (std::find(quoted.begin(), quoted.end(), hash) == quoted.end()) return;
  write.object["metadata"]["annotations"][key] = hash;
  write.changed = true;
}

}  // namespace

std::set<std::string> GatingPolicyCollections() {
  return {kube::kMutatingAdmissionPolicies.Path(), kube::kMutatingAdmissionPolicyBindings.Path(),
          kConfigs.Path()};
}

std::optional<Json> ApplyGatingPolicies(const KnownObjects& known, Random& random,
                                        const AdmissionAttributes& asked, const Json& ns) {
  const KnownObjects::Objects& policies = known.Of(kube::kMutatingAdmissionPolicies.Path());
  if (policies.empty() || !asked.object) return std::nullopt;
  std::vector<kube::ObjectKey> keys;
  for (const auto& [key, policy] : policies) keys.push_back(key);
  random.Shuffle(keys);
  Write write{.asked = asked, .ns = ns, .object = *asked.object};
  for (const kube::ObjectKey& key : keys) {
    const Json& policy = *policies.at(key);
    auto binding = known.Get(kube::kMutatingAdmissionPolicyBindings.Path(), key);
    if (binding == nullptr || !Matches(policy, *binding, write)) continue;
    if (key.name == operator_::kClusterGatePolicyName) {
      AddClusterGate(policy, !HasCondition(policy, "architecture-not-required"), write);
    } else if (key.name == operator_::kPreferencesGatePolicyName) {
      AddClusterGate(policy, /*preferences=*/true, write);
    } else if (key.name == operator_::kLocalGatePolicyName) {
      AddLocalGates(known, random, policy, write);
    } else if (key.name == operator_::kGatingProbeName) {
      AddProbe(policy, *binding, write);
    } else {
      LOG(FATAL) << "sim/ does not know the MutatingAdmissionPolicy " << key.name;
    }
  }
  if (!write.changed) return std::nullopt;
  return std::move(write.object);
}

}  // namespace sim

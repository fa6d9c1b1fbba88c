// SPDX-License-Identifier: Apache-2.0
#include "e2e/demo/pod_story.h"

#include <algorithm>

#include "api/names.h"

namespace e2e {
namespace {

bool GateRemoved(const Json& before, const Json& after, std::string_view gate) {
  return HasGate(before, gate) && !HasGate(after, gate);
}

std::string Join(const std::vector<std::string>& words, const char* separator) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : separator) + word;
  return joined.empty() ? "-" : joined;
}

std::string GatesText(const Json& pod) {
  std::vector<std::string> gates;
  if (HasGate(pod, api::kLocalGate)) gates.push_back("local gate");
  if (HasGate(pod, api::kClusterGate)) gates.push_back("cluster gate");
  return gates.empty() ? "no gate" : Join(gates, " + ");
}

// The configs that set the preferences: the annotation without skipped entries.
std::string SourcesText(const Json& pod) {
  std::vector<std::string> sources;
  std::string text = AnnotationOf(pod, std::string(api::kPreferredAffinitySourcesAnnotation));
  while (!text.empty()) {
    std::string entry = text.substr(0, text.find(','));
    text.erase(0, entry.size() + 1);
    if (!entry.ends_with(":skipped")) sources.push_back(entry.substr(entry.rfind(':') + 1));
  }
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return Join(sources, ", then ");
}

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The uid of the ReplicaSet or other owner of the pod; "" for none.
std::string OwnerOf(const Json& pod) {
  const Json* owners = kube::Find(pod, "metadata.ownerReferences");
  return owners == nullptr || owners->empty() ? "" : kube::StringAt((*owners)[0], "uid");
}

}  // namespace

std::string PreferencesText(const Json& pod) {
  std::vector<std::pair<int, std::string>> by_weight;
  for (const auto& [architecture, weight] : PreferencesOf(pod))
    by_weight.emplace_back(-weight, architecture);
  std::sort(by_weight.begin(), by_weight.end());
  std::vector<std::string> words;
  for (const auto& [weight, architecture] : by_weight)
    words.push_back(architecture + ":" + std::to_string(-weight));
  return Join(words, ", ");
}

std::string RequirementText(const Json& pod) {
  std::vector<std::vector<std::string>> terms = RequirementsOf(pod);
  return terms.empty() ? "-" : Join(terms.front(), "|");
}

std::string TolerationsText(const Json& pod) {
  const std::string start = std::string(api::kArchLabel) + "=";
  std::vector<std::string> values;
  for (const std::string& toleration : TolerationsOf(pod)) {
    if (!toleration.starts_with(start)) continue;
    size_t end = toleration.rfind(':');
    values.push_back(toleration.substr(start.size(), end - start.size()));
  }
  return Join(values, "|");
}

std::string TaintedNodeOf(const std::vector<Json>& nodes) {
  for (const Json& node : nodes) {
    const Json* taints = kube::Find(node, "spec.taints");
    for (const Json& taint : taints == nullptr ? Json::array() : *taints) {
      if (kube::StringAt(taint, "key") == api::kArchLabel &&
          kube::StringAt(taint, "effect") == "NoSchedule") {
        return kube::StringAt(node, "metadata.name");
      }
    }
  }
  return "";
}

std::vector<std::string> StepsBetween(
    const Json& before, const Json& after,
    const std::map<std::string, std::string>& node_architectures) {
  std::vector<std::string> steps;
  if (before.is_null()) {
    steps.push_back("created with " + GatesText(after));
    return steps;
  }
  if (GateRemoved(before, after, api::kLocalGate)) {
    steps.push_back("shard:      prefers " + PreferencesText(after) + " (" + SourcesText(after) +
                    "); local gate removed");
  }
  if (GateRemoved(before, after, api::kClusterGate)) {
    std::string preferences =
        PreferencesText(before) == PreferencesText(after)
            ? ""
            : "; prefers " + PreferencesText(after) + " (" + SourcesText(after) + ")";
    std::string tolerations = TolerationsText(before) == TolerationsText(after)
                                  ? ""
                                  : "; tolerates taints of " + TolerationsText(after);
    steps.push_back("controller: requires " + RequirementText(after) + preferences + tolerations +
                    "; cluster gate removed");
  }
  if (NodeOf(before).empty() && !NodeOf(after).empty()) {
    auto architecture = node_architectures.find(NodeOf(after));
    steps.push_back("scheduler:  on node " + NodeOf(after) + " (" +
                    (architecture == node_architectures.end() ? "?" : architecture->second) + ")");
  }
  return steps;
}

Expectation ExpectationOf(const Json& pod) {
  Expectation expected;
  std::vector<std::vector<std::string>> terms = RequirementsOf(pod);
  if (!terms.empty()) expected.supported = terms.front();
  int highest = 0;
  std::map<std::string, int> weights = PreferencesOf(pod);
  for (const std::string& architecture : expected.supported) {
    auto weight = weights.find(architecture);
    if (weight == weights.end() || weight->second < highest) continue;
    if (weight->second > highest) expected.preferred.clear();
    highest = weight->second;
    expected.preferred.push_back(architecture);
  }
  return expected;
}

Verdict VerdictOn(const Json& pod, const std::vector<Json>& pods,
                  const std::map<std::string, std::string>& node_architectures) {
  auto architecture_of = [&](const Json& which) {
    auto node = node_architectures.find(NodeOf(which));
    return node == node_architectures.end() ? std::string() : node->second;
  };
  std::string landed = architecture_of(pod);
  Expectation expected = ExpectationOf(pod);
  if (landed.empty()) return {false, "WRONG: on no node"};
  if (!Contains(expected.supported, landed)) return {false, "WRONG: its image does not support it"};
  if (expected.preferred.empty()) return {true, "ok: supported by its image"};
  if (Contains(expected.preferred, landed)) return {true, "ok: preferred"};

  // Why the scheduler may have chosen another node.
  bool has_node =
      std::any_of(node_architectures.begin(), node_architectures.end(),
                  [&](const auto& node) { return Contains(expected.preferred, node.second); });
  std::string text =
      "ok: supported by its image; " + Join(expected.preferred, "|") + " is preferred, but ";
  if (!has_node) return {true, text + "no node has it"};
  int same_node_architecture = 0;
  int preferred = 0;
  for (const Json& other : pods) {
    if (OwnerOf(pod).empty() || OwnerOf(other) != OwnerOf(pod) ||
        kube::StringAt(other, "metadata.uid") == kube::StringAt(pod, "metadata.uid")) {
      continue;
    }
    same_node_architecture += architecture_of(other) == landed ? 1 : 0;
    preferred += Contains(expected.preferred, architecture_of(other)) ? 1 : 0;
  }
  if (preferred > same_node_architecture)
    return {true, text + std::to_string(preferred) +
                      " replicas are there, and the scheduler spreads replicas"};
  return {true,
          text + "other scores of the scheduler (free resources, taints, images) were higher"};
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/pod_history.h"

#include "api/names.h"
#include "kube/types/list_at.h"

namespace e2e {

PodWatcher::PodWatcher(kube::Client& client, kube::Clock& clock, std::string ns)
    : follower_(client, clock, kube::ResourceOf<kube::core::Pod>::value, {.ns = std::move(ns)},
                [this](const std::string& type, const Json& pod) { Record(type, pod); }) {}

void PodWatcher::Record(const std::string& type, const Json& pod) {
  std::string uid = kube::StringAt(pod, "metadata.uid");
  auto [entry, added] = by_uid_.try_emplace(uid);
  if (added) {
    uids_.push_back(uid);
    entry->second.name = kube::StringAt(pod, "metadata.name");
  }
  entry->second.events.push_back({type, pod, std::chrono::steady_clock::now()});
}

const PodHistory* PodWatcher::Find(const std::string& name) const {
  for (auto uid = uids_.rbegin(); uid != uids_.rend(); ++uid) {
    const PodHistory& history = by_uid_.at(*uid);
    if (history.name == name) return &history;
  }
  return nullptr;
}

std::vector<const PodHistory*> PodWatcher::All() const {
  std::vector<const PodHistory*> all;
  for (const std::string& uid : uids_) all.push_back(&by_uid_.at(uid));
  return all;
}

namespace {

// The architectures that the expressions of one term name.
std::vector<std::string> ArchitecturesOf(const Json& term) {
  std::vector<std::string> architectures;
  for (const Json& expression : kube::ListAt(term, "matchExpressions")) {
    if (kube::StringAt(expression, "key") != api::kArchLabel) continue;
    for (const Json& value : kube::ListAt(expression, "values"))
      architectures.push_back(value.get<std::string>());
  }
  return architectures;
}

// A key of "metadata.labels" or the like; its dots and slashes rule out Find().
std::string EntryOf(const Json& object, const char* map, const std::string& key) {
  const Json* metadata = kube::Find(object, "metadata");
  if (metadata == nullptr || !metadata->contains(map)) return "";
  const Json& entries = (*metadata)[map];
  return entries.is_object() && entries.contains(key) ? entries[key].get<std::string>() : "";
}

Json EntriesOfOurGroup(const Json& object, std::string_view path) {
  Json selected = Json::object();
  for (const auto& [key, value] : kube::ObjectAt(object, path).items()) {
    if (key.starts_with(api::kLabelPrefix)) selected[key] = value;
  }
  return selected;
}

}  // namespace

bool HasGate(const Json& pod, std::string_view gate) {
  for (const Json& entry : kube::ListAt(pod, "spec.schedulingGates")) {
    if (kube::StringAt(entry, "name") == gate) return true;
  }
  return false;
}

bool IsGated(const Json& pod) {
  return HasGate(pod, api::kClusterGate) || HasGate(pod, api::kLocalGate);
}

bool IsOperand(const Json& pod) { return !LabelOf(pod, std::string(api::kOperandLabel)).empty(); }

bool HasLabel(const Json& object, const std::string& key, const std::string& value) {
  const Json& labels = kube::ObjectAt(object, "metadata.labels");
  return labels.contains(key) && labels[key] == value;
}

std::string LabelOf(const Json& object, const std::string& key) {
  return EntryOf(object, "labels", key);
}

std::string AnnotationOf(const Json& object, const std::string& key) {
  return EntryOf(object, "annotations", key);
}

std::string NodeOf(const Json& pod) { return kube::StringAt(pod, "spec.nodeName"); }

std::map<std::string, int> PreferencesOf(const Json& pod) {
  std::map<std::string, int> weights;
  for (const Json& term : kube::ListAt(
           pod, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution")) {
    const Json* preference = kube::Find(term, "preference");
    if (preference == nullptr) continue;
    for (const std::string& architecture : ArchitecturesOf(*preference)) {
      weights[architecture] = static_cast<int>(kube::IntAt(term, "weight"));
    }
  }
  return weights;
}

std::vector<std::vector<std::string>> RequirementsOf(const Json& pod) {
  std::vector<std::vector<std::string>> terms;
  for (const Json& term :
       kube::ListAt(pod,
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    "nodeSelectorTerms")) {
    terms.push_back(ArchitecturesOf(term));
  }
  return terms;
}

std::vector<std::string> TolerationsOf(const Json& pod) {
  std::vector<std::string> tolerations;
  for (const Json& toleration : kube::ListAt(pod, "spec.tolerations")) {
    if (kube::StringAt(toleration, "operator", "Equal") != "Equal") continue;
    tolerations.push_back(kube::StringAt(toleration, "key") + "=" +
                          kube::StringAt(toleration, "value") + ":" +
                          kube::StringAt(toleration, "effect"));
  }
  return tolerations;
}

Json OperatorFieldsIn(const Json& pod) {
  const Json* affinity = kube::Find(pod, "spec.affinity");
  return {{"affinity", affinity == nullptr ? Json() : *affinity},
          {"tolerations", kube::ListAt(pod, "spec.tolerations")},
          {"labels", EntriesOfOurGroup(pod, "metadata.labels")},
          {"annotations", EntriesOfOurGroup(pod, "metadata.annotations")}};
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/history.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/gate_rules.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

// The beginning of their names.
constexpr std::string_view kOperatorPods = "multiarch-tuning-operator-";

std::set<size_t> ChangedTerms(const PodChange& change) {
  std::set<size_t> changed;
  const Json& before = RequiredTermsOf(change.before);
  const Json& after = RequiredTermsOf(change.after);
  for (size_t i = 0; i < after.size(); ++i) {
    if (i >= before.size() || before[i] != after[i]) changed.insert(i);
  }
  return changed;
}

// "GENERATION SECONDS NAME" (watches/README.md); 0 if it is something else.
int64_t GenerationIn(const std::string& announcement) {
  int64_t generation = 0;
  std::from_chars(announcement.data(), announcement.data() + announcement.size(), generation);
  return generation;
}

}  // namespace

bool IsEffective(const Commit& commit) {
  if (!commit.before || !commit.after) return true;
  for (const char* path : {"spec", "metadata.deletionTimestamp", "metadata.uid"}) {
    const Json* before = kube::Find(*commit.before, path);
    const Json* after = kube::Find(*commit.after, path);
    if ((before == nullptr) != (after == nullptr)) return true;
    if (before != nullptr && *before != *after) return true;
  }
  return false;
}

void History::Add(const Commit& commit, const Writer& writer) {
  if (IsOf(commit, "", "pods")) {
    AddPod(commit, writer);
  } else if (IsOf(commit, "", "namespaces")) {
    NamespaceState state;
    if (commit.after) {
      state = {.labels = LabelsOf(*commit.after),
               .exists = true,
               .deleting = !kube::StringAt(*commit.after, "metadata.deletionTimestamp").empty()};
    }
    namespaces_[commit.key.name].Set(commit, std::move(state));
  } else if (commit.group == api::kGroup && IsEffective(commit)) {
    AddConfig(commit);
  } else if (IsOf(commit, "coordination.k8s.io", "leases")) {
    AddLease(commit);
  } else if (IsOf(commit, "apps", "deployments")) {
    if (commit.key.name == api::kControllerName && commit.key.ns == facts_.operator_namespace) {
      controller_available_.Set(
          commit, commit.after && kube::IntAt(*commit.after, "status.availableReplicas") > 0);
    }
  } else if (commit.group == "kupid.gardener.cloud") {
    had_policies_ = true;
  }
}

bool History::IsOperatorPod(const kube::ObjectKey& pod) const {
  return pod.ns == facts_.operator_namespace && pod.name.starts_with(kOperatorPods);
}

bool History::HasOperatorPod() const {
  auto first = pods_.lower_bound({facts_.operator_namespace, std::string(kOperatorPods)});
  return first != pods_.end() && IsOperatorPod(first->first);
}

void History::AddPod(const Commit& commit, const Writer& writer) {
  if (!commit.after) {
    const bool known = pods_.erase(commit.key) > 0;
    if (known && IsOperatorPod(commit.key) && !HasOperatorPod()) operator_ended_ = commit.at;
    return;
  }
  if (IsOperatorPod(commit.key)) operator_ended_ = Time::max();
  const Json& pod = *commit.after;
  PodLife& life = pods_[commit.key];
  std::string uid = kube::StringAt(pod, "metadata.uid");
  if (life.created_version == 0 || life.uid != uid) {
    life = {.uid = std::move(uid), .created = commit.at, .created_version = commit.version};
  }
  if (IsPodChange(commit)) {
    PodChange change{commit, writer, *commit.before, pod};
    bool decides = writer.Is(Program::kShard) || writer.Is(Program::kClusterController);
    if (decides && change.Removes(api::kLocalGate)) life.local_done = true;
    if (IsFirstDecision(change) && ChangesPlacement(change)) {
      life.first_decision = true;
      life.own_terms = ChangedTerms(change);
    }
  }
  if (!writer.IsOurs() && HasLabel(pod, api::kInspectErrorCountLabel) &&
      (!commit.before || LabelOf(*commit.before, api::kInspectErrorCountLabel) !=
                             LabelOf(pod, api::kInspectErrorCountLabel)))
    life.foreign_count = true;
  bool waits = IsGated(pod) && OtherGates(pod).empty();
  bool waited = life.pod != nullptr && IsGated(*life.pod) && OtherGates(*life.pod).empty();
  if (waits && !waited) life.gated_since = commit.at;
  life.pod = commit.after;
}

void History::AddConfig(const Commit& commit) {
  if (commit.plural == "clusterpodplacementconfigs") {
    if (commit.key.name != api::kClusterConfigName) return;
    cluster_config_.Set(commit,
                        std::make_shared<const ClusterConfig>(
                            commit.after ? ClusterConfig::Read(*commit.after) : ClusterConfig()));
    return;
  }
  if (commit.plural != "podplacementconfigs") return;
  Timeline<NamespaceConfigs>& timeline = configs_[commit.key.ns];
  NamespaceConfigs configs = timeline.Latest();
  std::erase_if(configs, [&](const auto& config) { return config->name == commit.key.name; });
  bool announced = false;
  if (commit.after) {
    configs.push_back(
        std::make_shared<const NamespaceConfig>(NamespaceConfig::Read(*commit.after)));
    announced = AnnouncedAt(commit.key.ns, kube::StringAt(*commit.after, "metadata.uid"),
                            kube::IntAt(*commit.after, "metadata.generation", 1))
                    .has_value();
  }
  if (!announced) unannounced_.insert(commit.version);
  timeline.Set(commit, std::move(configs));
}

void History::AddAnnouncements(const Commit& commit) {
  const Json announcements = commit.after ? AnnotationsOf(*commit.after) : Json::object();
  preference_announced_[commit.key.ns].Set(
      commit, announcements.contains(std::string(api::kPreferencesAnnouncedAnnotation)));
  for (const auto& [key, value] : announcements.items()) {
    if (!key.starts_with(api::kAnnouncementAnnotationPrefix) || !value.is_string()) continue;
    Announced& known =
        announced_[commit.key.ns][key.substr(api::kAnnouncementAnnotationPrefix.size())];
    int64_t generation = GenerationIn(value.get<std::string>());
    if (generation > known.generation) known = {generation, commit.at};
  }
}

void History::AddLease(const Commit& commit) {
  if (commit.key.name == api::kAnnouncementsName) AddAnnouncements(commit);
  if (!commit.after) return;
  if (commit.key.name == api::kControllerName && commit.key.ns == facts_.operator_namespace) {
    std::string holder = kube::StringAt(*commit.after, "spec.holderIdentity");
    if (holder.empty()) return;
    // A replica that has restarted begins a new term as well.
    holder += "@" + kube::StringAt(*commit.after, "spec.acquireTime");
    if (holder == leader_) return;
    if (!leader_.empty()) leader_changes_.push_back(commit.at);
    leader_ = std::move(holder);
  }
}

const Timeline<NamespaceConfigs>* History::ConfigsOf(const std::string& ns) const {
  auto found = configs_.find(ns);
  return found == configs_.end() ? nullptr : &found->second;
}

const Timeline<NamespaceState>* History::NamespaceOf(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  return found == namespaces_.end() ? nullptr : &found->second;
}

std::vector<const NamespaceConfigs*> History::ConfigsFor(const std::string& ns, const PodLife& life,
                                                         uint64_t to) const {
  static const NamespaceConfigs kNone;
  const Timeline<NamespaceConfigs>* timeline = ConfigsOf(ns);
  if (timeline == nullptr) return {&kNone};
  const auto& changes = timeline->changes();
  size_t first = timeline->IndexAt(life.created_version);
  while (first > 0 && unannounced_.contains(changes[first].version) &&
         changes[first].at > life.created - facts_.timing.watch_lag)
    --first;
  std::vector<const NamespaceConfigs*> configs;
  for (size_t i = first, last = timeline->IndexAt(to); i <= last; ++i)
    configs.push_back(&changes[i].value);
  return configs;
}

std::optional<Time> History::AnnouncedAt(const std::string& ns, const std::string& uid,
                                         int64_t generation) const {
  auto of_namespace = announced_.find(ns);
  if (of_namespace == announced_.end()) return std::nullopt;
  auto found = of_namespace->second.find(uid);
  if (found == of_namespace->second.end() || found->second.generation < generation)
    return std::nullopt;
  return found->second.at;
}

const Timeline<bool>* History::PreferenceAnnouncedIn(const std::string& ns) const {
  auto found = preference_announced_.find(ns);
  return found == preference_announced_.end() ? nullptr : &found->second;
}

const PodLife* History::LifeOf(const kube::ObjectKey& pod) const {
  auto found = pods_.find(pod);
  return found == pods_.end() ? nullptr : &found->second;
}

bool History::LeaderChanged(Time from, Time to) const {
  auto is_between = [&](Time at) { return at >= from && at <= to; };
  return std::any_of(leader_changes_.begin(), leader_changes_.end(), is_between) ||
         std::any_of(facts_.controller_ends.begin(), facts_.controller_ends.end(), is_between);
}

}  // namespace sim::checker

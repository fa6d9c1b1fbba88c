// SPDX-License-Identifier: Apache-2.0
#include "placement/release.h"

#include <algorithm>

#include "api/architecture.h"
#include "api/known_images.h"
#include "api/names.h"
#include "kube/base/join.h"
#include "placement/gate.h"
#include "placement/narrowing.h"
#include "placement/pod_metadata.h"
#include "placement/preference.h"
#include "placement/required_terms.h"
#include "placement/requirement.h"
#include "placement/tolerations.h"

namespace placement {
namespace {

using kube::core::Pod;

// The API server limits the length of event messages.
std::string ListOf(const std::vector<std::string>& items) {
  constexpr size_t kShown = 8;
  return kube::Join(items, kShown);
}

void AddPreferencesEvents(const PreferenceResult& preferences, Release& release) {
  if (!preferences.set.empty()) {
    release.events.push_back({api::kReasonPredicateSet,
                              "Added the architecture preferences of " + ListOf(preferences.set)});
  }
  if (!preferences.beyond_limit.empty()) {
    release.events.push_back(
        {api::kReasonTooManyPreferences,
         "Skipped because the pod has " + std::to_string(kMaxArchitectures) +
             " architecture preferences of configurations, the largest number: " +
             ListOf(preferences.beyond_limit),
         true});
  }
  if (preferences.duplicates.empty()) return;
  std::string_view cause = preferences.user_preferences
                               ? "the pod has preferences on kubernetes.io/arch of its own"
                               : "a rule or configuration of higher priority already set this "
                                 "architecture";
  release.events.push_back(
      {api::kReasonPreferredDuplicates,
       "Skipped because " + std::string(cause) + ": " + ListOf(preferences.duplicates)});
}

void AddRulesEvent(const MatchingConfigs& configs, Release& release) {
  std::vector<std::string> sources;
  const std::string* error = nullptr;
  for (const MatchingConfig& matching : configs) {
    if (matching.rules_error.empty()) continue;
    sources.push_back(SourceOf(matching.config->metadata().name()));
    if (error == nullptr) error = &matching.rules_error;
  }
  if (error == nullptr) return;
  release.events.push_back({api::kReasonRulesNotEvaluated,
                            "The pod may miss preferences, because rules were not evaluated, of " +
                                ListOf(sources) + ": " + *error,
                            true});
}

void AddGateRemovedEvent(std::string_view gate, Release& release) {
  release.events.push_back(
      {api::kReasonGateRemoved, "Removed the scheduling gate " + std::string(gate)});
}

void AddStaleInspectionEvent(const std::string& why, Release& release) {
  release.events.push_back(
      {api::kReasonStaleInspection, "Used what was known of the images: " + why, true});
}

void AddTakeoverEvent(Release& release) {
  release.events.push_back(
      {api::kReasonShardTakeover,
       "The controller of this namespace is unavailable; the cluster controller applied its "
       "PodPlacementConfigs",
       true});
}

void AddRequirementEvent(RequirementResult result, std::string_view reason, std::string message,
                         Release& release) {
  switch (result) {
    case RequirementResult::kSet:
      release.events.push_back({reason, std::move(message), reason == api::kReasonFallbackSet});
      return;
    case RequirementResult::kNowhere:
      release.events.push_back({api::kReasonNoSupportedArchitectures,
                                "The container images have no architecture in common, on the "
                                "operating systems that the pod "
                                "allows: no node can run it"});
      return;
    case RequirementResult::kConflict:
      release.events.push_back(
          {api::kReasonPredicatesConflict,
           "The pod already constrains kubernetes.io/arch: no requirement was added"});
      return;
    case RequirementResult::kTooLarge:
      release.events.push_back({api::kReasonPredicatesConflict,
                                "The required node affinity has too many terms: no requirement was "
                                "added",
                                true});
      return;
    case RequirementResult::kKept:
      return;
  }
}

bool Awaits(const Pod& pod, const ClusterDecision& decision) {
  return decision.await_other_gates && !OtherGates(pod).empty();
}

// For the last write, which may come much later. Without the cluster gate, there is none.
void NameConfigOfTolerations(Pod& pod, const MatchingConfigs& configs) {
  const api::PodPlacementConfig* config = ConfigForTolerations(configs);
  if (config != nullptr && HasGate(pod, api::kClusterGate))
    SetAnnotation(pod, api::kLocalTolerationsAnnotation, config->metadata().name());
}

// Adds the tolerations for the architectures that the pod's images support.
void AddTolerations(Pod& pod, const ClusterDecision& decision, const ArchitectureSet& supported,
                    Release& release) {
  const api::PodPlacementConfig* config = ConfigForTolerations(decision.configs);
  const api::ArchitectureTolerations* plugin =
      config == nullptr ? decision.cluster_tolerations : config->Tolerations();
  if (plugin == nullptr || decision.without_tolerations || !OtherGates(pod).empty()) return;
  std::vector<std::string> added = ApplyTolerations(pod, *plugin, supported);
  if (added.empty()) return;
  release.additions = true;
  std::string source =
      config == nullptr ? std::string(kClusterSource) : SourceOf(config->metadata().name());
  release.events.push_back({api::kReasonTolerationsSet, "Added the tolerations of " + source +
                                                            " for taints with the key " +
                                                            plugin->key + ": " + ListOf(added)});
}

// Restricts the requirement that was set while the pod had gates of other controllers. Without a
// result, it stays: the pod has waited long enough.
void ApplyInspectionAgain(Pod& pod, const ClusterDecision& decision, Release& release) {
  Requirement required{.architectures = RequiredBefore(pod)};
  if (decision.platforms) required = NarrowRequirement(pod, *decision.platforms);
  const std::string& error = decision.inspection_error;
  if (const std::string& stale = decision.platforms ? decision.stale_inspection : error;
      !stale.empty())
    AddStaleInspectionEvent(stale, release);
  AddRequirementEvent(required.result, api::kReasonPredicateSet,
                      "Required less than before, as of now: one of the architectures: " +
                          DescribeRequirement(required),
                      release);
  if (required.result != RequirementResult::kNowhere)
    AddTolerations(pod, decision, required.architectures, release);
}

// Sets requirement and tolerations from the result of the inspection.
void ApplyInspection(Pod& pod, const ClusterDecision& decision, Release& release) {
  if (!NeedsRequirement(pod) && !RequiredBefore(pod).empty()) {
    ApplyInspectionAgain(pod, decision, release);
    return;
  }
  if (decision.platforms || !NeedsRequirement(pod)) {
    ClearInspectionError(pod);
    if (!decision.stale_inspection.empty())
      AddStaleInspectionEvent(decision.stale_inspection, release);
    if (Awaits(pod, decision) && NeedsRequirement(pod)) RequiredTerms::Record(pod);
    Requirement required = ApplyRequirement(pod, decision.platforms.value_or(CommonPlatforms()));
    AddRequirementEvent(required.result, api::kReasonPredicateSet,
                        "Required one of the architectures: " + DescribeRequirement(required),
                        release);
    if (required.result == RequirementResult::kSet)
      AddTolerations(pod, decision, required.architectures, release);
    return;
  }
  if (decision.inspection_tries > 0)
    ApplyInspectionError(pod, decision.inspection_error, decision.inspection_tries);
  release.events.push_back({api::kReasonInspectionError,
                            "Could not inspect the container images: " + decision.inspection_error,
                            true});
  if (Awaits(pod, decision) || !api::IsArchitectureName(decision.fallback_architecture)) {
    // The pod may be scheduled to any node: better than to stay gated (I3).
    SetLabel(pod, api::kNodeAffinityLabel, api::kNotSet);
    return;
  }
  RequirementResult result = ApplyFallback(pod, decision.fallback_architecture);
  AddRequirementEvent(result, api::kReasonFallbackSet,
                      "Required the fallback architecture " + decision.fallback_architecture,
                      release);
}

}  // namespace

Release ReleaseLocal(Pod& pod, const MatchingConfigs& configs, bool without_tolerations) {
  Release release;
  if (!HasGate(pod, api::kLocalGate)) return release;
  const bool placed =
      HasLabel(pod, api::kPlacedAtCreationLabel) && !HasGate(pod, api::kClusterGate);
  std::vector<api::Platform> of_cluster;
  if (placed) {
    of_cluster = TakeClusterPreferences(pod);
    bool of_namespace = HasPreferencesOfNamespace(pod) || !SourcesOf(configs).empty();
    if (of_namespace && LabelOf(pod, api::kPlacedAtCreationLabel) == api::kYieldsToNamespace)
      of_cluster.clear();
  }
  PreferenceResult preferences = ApplyPreferences(pod, SourcesOf(configs, of_cluster));
  AddPreferencesEvents(preferences, release);
  if (placed) {
    ClusterDecision decision{.configs = configs, .without_tolerations = without_tolerations};
    AddTolerations(pod, decision, RequiredBefore(pod), release);
  }
  AddRulesEvent(configs, release);
  NameConfigOfTolerations(pod, configs);
  DropGate(pod, api::kLocalGate);
  AddGateRemovedEvent(api::kLocalGate, release);
  release.released = true;
  return release;
}

Release ReleaseCluster(Pod& pod, const ClusterDecision& decision) {
  Release release;
  bool local_gate = HasGate(pod, api::kLocalGate);
  if (!HasGate(pod, api::kClusterGate) || (local_gate && !decision.take_over_shard)) return release;

  // PodPlacementConfigs come before the ClusterPodPlacementConfig, as if the shard had applied
  // them.
  const MatchingConfigs none;
  const MatchingConfigs& preferring = decision.preferences_decided ? none : decision.configs;
  bool only_of_namespace = decision.namespace_takes_precedence &&
                           (HasPreferencesOfNamespace(pod) || !SourcesOf(preferring).empty());
  PreferenceResult preferences = ApplyPreferences(
      pod, SourcesOf(preferring, only_of_namespace ? std::span<const api::Platform>()
                                                   : decision.cluster_platforms));
  AddPreferencesEvents(preferences, release);
  AddRulesEvent(preferring, release);
  if (LabelOf(pod, api::kPreferredNodeAffinityLabel).empty()) {
    SetLabel(pod, api::kPreferredNodeAffinityLabel, api::kNotSet);
  }

  ApplyInspection(pod, decision, release);

  if (local_gate) {
    NameConfigOfTolerations(pod, decision.configs);
    DropGate(pod, api::kLocalGate);
    AddTakeoverEvent(release);
  }
  release.released = true;
  if (Awaits(pod, decision)) {
    release.awaits_other_gates = true;
    release.events.push_back(
        {api::kReasonGateAdded,
         "Waiting for the scheduling gates of other controllers: " + ListOf(OtherGates(pod))});
    return release;
  }
  DropGate(pod, api::kClusterGate);
  release.placed = true;
  AddGateRemovedEvent(api::kClusterGate, release);
  if (!decision.not_awaited.empty()) {
    release.events.back().message +=
        " before those of other controllers, without tolerations: " + decision.not_awaited;
  }
  return release;
}

bool IsDecided(const Pod& pod, int max_tries) {
  return HasGate(pod, api::kClusterGate) && !HasGate(pod, api::kLocalGate) &&
         (!NeedsRequirement(pod) || InspectionTries(pod, max_tries) == max_tries);
}

bool NeedsInspection(const Pod& pod) {
  if (NeedsRequirement(pod)) return true;
  return OtherGates(pod).empty() && !RequiredBefore(pod).empty();
}

Release TakeOverLocal(Pod& pod, const MatchingConfigs& configs, bool without_tolerations) {
  Release release = ReleaseLocal(pod, configs, without_tolerations);
  if (release.released) AddTakeoverEvent(release);
  return release;
}

Release ReleaseIgnored(Pod& pod, std::string_view gate) {
  Release release = ReleaseBare(pod, gate);
  if (!release.released) return release;
  release.events.insert(
      release.events.begin(),
      {api::kReasonGatedPodIgnored,
       "The pod is excluded from placement by architecture: only its gates were removed", true});
  return release;
}

Release ReleaseBare(Pod& pod, std::string_view gate) {
  Release release;
  for (std::string_view dropped : {api::kLocalGate, api::kClusterGate}) {
    bool wanted = dropped == gate || gate == api::kClusterGate;
    if (!wanted || !DropGate(pod, dropped)) continue;
    AddGateRemovedEvent(dropped, release);
    release.released = true;
  }
  return release;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/preference_model.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/label_selection.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

constexpr std::string_view kClusterSource = "ClusterPodPlacementConfig";
constexpr std::string_view kSkipped = ":skipped";
// docs/reference.md, Limits: architecture preferences of a pod from configurations.
constexpr size_t kMostPreferences = 32;

std::multiset<std::string> EntriesOf(const Json& pod) {
  std::multiset<std::string> entries;
  std::string text = AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    entries.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return entries;
}

std::string Preference(const PlatformWeight& platform) {
  return platform.architecture + ":" + std::to_string(platform.weight);
}

// "arm64:75" for a term as configurations have it, "" for any other.
std::string PreferenceIn(const Json& term) {
  const Json& expressions = kube::ListAt(term, "preference.matchExpressions");
  if (expressions.size() != 1 || !kube::ListAt(term, "preference.matchFields").empty()) return "";
  const Json& values = kube::ListAt(expressions[0], "values");
  if (kube::StringAt(expressions[0], "key") != api::kArchLabel || values.size() != 1 ||
      kube::StringAt(expressions[0], "operator") != "In" || !values[0].is_string())
    return "";
  return values[0].get<std::string>() + ":" + std::to_string(kube::IntAt(term, "weight"));
}

bool IsRecorded(const std::multiset<std::string>& entries, const std::string& preference) {
  return std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
    return entry.starts_with(preference + ":") && !entry.ends_with(kSkipped);
  });
}

bool IsRecordedOf(const std::multiset<std::string>& entries, const std::string& architecture,
                  const std::string& source) {
  return std::any_of(entries.begin(), entries.end(), [&](std::string_view entry) {
    if (entry.ends_with(kSkipped)) entry.remove_suffix(kSkipped.size());
    return entry.starts_with(architecture + ":") && entry.ends_with(":" + source);
  });
}

std::string Join(const std::multiset<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text.empty() ? "none" : text;
}

}  // namespace

NamespaceConfigs SelectedBy(const InForce& in_force, const Json& pod) {
  NamespaceConfigs selected;
  for (const auto& config : in_force.configs) {
    if (Selects(config->selector, LabelsOf(pod))) selected.push_back(config);
  }
  return selected;
}

std::vector<PreferenceSource> SourcesOf(const NamespaceConfigs& configs) {
  std::vector<PreferenceSource> sources;
  for (const auto& config : configs) {
    if (!config->preferences.empty())
      sources.push_back({"PodPlacementConfig-" + config->name, config->preferences});
  }
  return sources;
}

std::vector<PreferenceSource> SourcesOf(const ClusterConfig& config) {
  if (config.preferences.empty()) return {};
  return {{std::string(kClusterSource), config.preferences}};
}

PreferenceAnswer Prefer(const Json& before, const std::vector<PreferenceSource>& sources) {
  PreferenceAnswer answer{.entries = EntriesOf(before), .no_sources = sources.empty()};
  // The annotation says which preferences are of configurations; all others are the user's.
  std::set<std::string> present;
  bool own = false;
  for (const Json& term : PreferredTermsOf(before)) {
    if (!HasExpressionOn(kube::ObjectAt(term, "preference"), api::kArchLabel)) continue;
    std::string preference = PreferenceIn(term);
    if (!preference.empty() && IsRecorded(answer.entries, preference)) {
      present.insert(preference.substr(0, preference.find(':')));
    } else {
      own = true;
    }
  }
  for (const PreferenceSource& source : sources) {
    for (const PlatformWeight& platform : source.platforms) {
      std::string entry = Preference(platform) + ":" + source.name;
      if (!own && !present.contains(platform.architecture) && present.size() < kMostPreferences) {
        present.insert(platform.architecture);
        answer.added.insert(Preference(platform));
        answer.entries.insert(entry);
      } else if (!IsRecordedOf(answer.entries, platform.architecture, source.name)) {
        answer.entries.insert(entry + std::string(kSkipped));
      }
    }
  }
  answer.has_any = !present.empty();
  return answer;
}

std::string DiffersFrom(const PreferenceAnswer& answer, const Json& before, const Json& after) {
  // What the write has added: terms of which `after` has more than `before`.
  std::multiset<std::string> added;
  std::map<std::string, int> known;
  for (const Json& term : PreferredTermsOf(before)) ++known[kube::DumpJson(term)];
  for (const Json& term : PreferredTermsOf(after)) {
    if (--known[kube::DumpJson(term)] < 0) added.insert(PreferenceIn(term));
  }
  if (added != answer.added)
    return "added the preferences " + Join(added) + " instead of " + Join(answer.added);
  std::multiset<std::string> entries = EntriesOf(after);
  if (entries != answer.entries)
    return "recorded the sources " + Join(entries) + " instead of " + Join(answer.entries);
  std::string label = LabelOf(after, api::kPreferredNodeAffinityLabel);
  bool as_before = answer.no_sources && label == LabelOf(before, api::kPreferredNodeAffinityLabel);
  if (!as_before && label != (answer.has_any ? api::kSet : api::kNotSet))
    return "set the label preferred-node-affinity to \"" + label + "\"";
  return "";
}

bool IsPlacedBehindLocalGate(const Json& pod) {
  return HasLabel(pod, api::kPlacedAtCreationLabel) && HasGate(pod, api::kLocalGate) &&
         !HasGate(pod, api::kClusterGate);
}

Json WithoutPreferencesOfCluster(Json pod, std::vector<PlatformWeight>& taken) {
  std::multiset<std::string> left;
  std::set<std::string> preferences;
  const std::string source = ":" + std::string(kClusterSource);
  for (const std::string& entry : EntriesOf(pod)) {
    std::string_view text = entry;
    bool skipped = text.ends_with(kSkipped);
    if (skipped) text.remove_suffix(kSkipped.size());
    if (!text.ends_with(source)) {
      left.insert(entry);
      continue;
    }
    text.remove_suffix(source.size());
    const size_t colon = std::min(text.find(':'), text.size());
    int weight = 0;
    std::from_chars(text.data() + std::min(colon + 1, text.size()), text.data() + text.size(),
                    weight);
    taken.push_back({std::string(text.substr(0, colon)), weight});
    if (!skipped) preferences.insert(std::string(text));
  }
  if (taken.empty()) return pod;
  Json kept = Json::array();
  for (const Json& term : PreferredTermsOf(pod)) {
    if (!preferences.contains(PreferenceIn(term))) kept.push_back(term);
  }
  pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
      std::move(kept);
  std::string record;
  for (const std::string& entry : left) record += (record.empty() ? "" : ",") + entry;
  pod["metadata"]["annotations"][std::string(api::kPreferredAffinitySourcesAnnotation)] = record;
  return pod;
}

NamespacePreferences OfNamespace(const Json& pod) {
  NamespacePreferences preferences;
  for (const std::string& entry : EntriesOf(pod)) {
    if (entry.find(":PodPlacementConfig-") == std::string::npos) continue;
    (entry.ends_with(kSkipped) ? preferences.skipped : preferences.set) = true;
  }
  return preferences;
}

}  // namespace sim::checker

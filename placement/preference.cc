// SPDX-License-Identifier: Apache-2.0
#include "placement/preference.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "api/architecture.h"
#include "api/names.h"
#include "placement/architecture.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::Pod;
using kube::core::PreferredSchedulingTerm;

constexpr int32_t kMaxWeight = 100;
constexpr size_t kMaxEntries = 256;
// There is room for the preferences that are set: an entry that is not read makes the operator's
// own preference look like the user's.
constexpr size_t kMaxSkipped = kMaxEntries - kMaxArchitectures;

std::string_view NextField(std::string_view& text, char separator) {
  std::string_view field = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return field;
}

// The annotation, entry by entry. A user may have written it: entries that do not parse are
// dropped.
class SourceRecord {
 public:
  explicit SourceRecord(std::string_view text) {
    while (!text.empty() && entries_.size() < kMaxEntries) {
      std::string_view rest = NextField(text, ',');
      RecordedPreference entry;
      entry.architecture = NextField(rest, ':');
      std::string_view weight = NextField(rest, ':');
      entry.source = NextField(rest, ':');
      entry.skipped = rest == "skipped";
      auto parsed = std::from_chars(weight.data(), weight.data() + weight.size(), entry.weight);
      bool number = parsed.ec == std::errc() && parsed.ptr == weight.data() + weight.size();
      if (number && api::IsArchitectureName(entry.architecture) && !entry.source.empty())
        entries_.push_back(entry);
    }
  }

  RecordedPreference* Find(std::string_view architecture, std::string_view source) {
    auto at = std::find_if(entries_.begin(), entries_.end(), [&](const RecordedPreference& entry) {
      return entry.architecture == architecture && entry.source == source;
    });
    return at == entries_.end() ? nullptr : &*at;
  }

  bool IsSet(std::string_view architecture, int32_t weight) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const RecordedPreference& entry) {
      return !entry.skipped && entry.architecture == architecture && entry.weight == weight;
    });
  }

  void Record(const api::Platform& platform, const std::string& source, bool skipped) {
    RecordedPreference* entry = Find(platform.architecture, source);
    if (entry == nullptr) entry = &entries_.emplace_back();
    *entry = {platform.architecture, platform.weight, source, skipped};
    changed_ = true;
  }

  // Removes the entries of `source`, and returns them.
  std::vector<RecordedPreference> Take(std::string_view source) {
    auto first = std::stable_partition(
        entries_.begin(), entries_.end(),
        [&](const RecordedPreference& entry) { return entry.source != source; });
    std::vector<RecordedPreference> taken(std::make_move_iterator(first),
                                          std::make_move_iterator(entries_.end()));
    changed_ = changed_ || !taken.empty();
    entries_.erase(first, entries_.end());
    return taken;
  }

  bool HasOtherThan(std::string_view source) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const RecordedPreference& entry) { return entry.source != source; });
  }

  const std::vector<RecordedPreference>& entries() const { return entries_; }
  bool changed() const { return changed_; }
  // If many configs select one pod, only the first skipped preferences are recorded.
  bool full() const { return entries_.size() >= kMaxSkipped; }

  std::string ToString(bool with_skipped) const {
    std::string text;
    for (const RecordedPreference& entry : entries_) {
      if (entry.skipped && !with_skipped) continue;
      if (!text.empty()) text += ',';
      text += entry.architecture + ':' + std::to_string(entry.weight) + ':' + entry.source;
      if (entry.skipped) text += ":skipped";
    }
    return text;
  }

 private:
  std::vector<RecordedPreference> entries_;
  bool changed_ = false;
};

const NodeSelectorRequirement* ArchitectureExpression(const PreferredSchedulingTerm& term) {
  for (const NodeSelectorRequirement& expression : term.preference().match_expressions()) {
    if (expression.key() == api::kArchLabel) return &expression;
  }
  return nullptr;
}

bool IsFromConfig(const PreferredSchedulingTerm& term, const NodeSelectorRequirement& expression,
                  const SourceRecord& recorded) {
  return term.preference().match_expressions_size() == 1 &&
         term.preference().match_fields().empty() && expression.operator_() == "In" &&
         expression.values_size() == 1 && recorded.IsSet(expression.values(0), term.weight());
}

void AddTerm(Pod& pod, const api::Platform& platform) {
  auto& affinity = *pod.mutable_spec()->mutable_affinity()->mutable_node_affinity();
  PreferredSchedulingTerm& term =
      *affinity.add_preferred_during_scheduling_ignored_during_execution();
  term.set_weight(platform.weight);
  NodeSelectorRequirement& expression = *term.mutable_preference()->add_match_expressions();
  expression.set_key(std::string(api::kArchLabel));
  expression.set_operator_("In");
  expression.add_values(platform.architecture);
}

}  // namespace

std::string SourceOf(std::string_view name) { return "PodPlacementConfig-" + std::string(name); }

std::vector<RecordedPreference> RecordedPreferences(const Pod& pod) {
  return SourceRecord(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation)).entries();
}

bool HasPreferencesOfNamespace(const Pod& pod) {
  return SourceRecord(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation))
      .HasOtherThan(kClusterSource);
}

std::vector<api::Platform> TakeClusterPreferences(Pod& pod) {
  SourceRecord recorded(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation));
  const SourceRecord before = recorded;
  std::vector<api::Platform> platforms;
  for (RecordedPreference& entry : recorded.Take(kClusterSource))
    platforms.push_back({.architecture = std::move(entry.architecture), .weight = entry.weight});
  if (platforms.empty()) return platforms;

  auto& terms = *pod.mutable_spec()
                     ->mutable_affinity()
                     ->mutable_node_affinity()
                     ->mutable_preferred_during_scheduling_ignored_during_execution();
  auto is_taken = [&](const PreferredSchedulingTerm& term) {
    const NodeSelectorRequirement* expression = ArchitectureExpression(term);
    return expression != nullptr && IsFromConfig(term, *expression, before) &&
           !IsFromConfig(term, *expression, recorded);
  };
  terms.erase(std::remove_if(terms.begin(), terms.end(), is_taken), terms.end());
  std::string left = recorded.ToString(/*with_skipped=*/true);
  if (left.empty()) {
    RemoveAnnotation(pod, api::kPreferredAffinitySourcesAnnotation);
  } else {
    SetAnnotation(pod, api::kPreferredAffinitySourcesAnnotation, left);
  }
  return platforms;
}

PreferenceResult ApplyPreferences(Pod& pod, std::span<const PreferenceSource> sources) {
  PreferenceResult result;
  if (sources.empty()) return result;

  // Read the present preferences: those of configurations, and the user's.
  SourceRecord recorded(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation));
  ArchitectureSet present;
  for (const PreferredSchedulingTerm& term :
       pod.spec()
           .affinity()
           .node_affinity()
           .preferred_during_scheduling_ignored_during_execution()) {
    const NodeSelectorRequirement* expression = ArchitectureExpression(term);
    if (expression == nullptr) continue;
    if (IsFromConfig(term, *expression, recorded)) {
      present.insert(expression->values(0));
    } else {
      result.user_preferences = true;
    }
  }

  // Add the missing ones.
  for (const PreferenceSource& source : sources) {
    bool set_any = false;
    for (const api::Platform& platform : source.platforms) {
      bool valid = api::IsArchitectureName(platform.architecture) && platform.weight >= 1 &&
                   platform.weight <= kMaxWeight;
      if (!valid) continue;
      bool duplicate = result.user_preferences || present.contains(platform.architecture);
      if (duplicate || present.size() >= kMaxArchitectures) {
        if (recorded.full() || recorded.Find(platform.architecture, source.name) != nullptr)
          continue;
        recorded.Record(platform, source.name, /*skipped=*/true);
        (duplicate ? result.duplicates : result.beyond_limit)
            .push_back(platform.architecture + " of " + source.name);
        continue;
      }
      AddTerm(pod, platform);
      present.insert(platform.architecture);
      recorded.Record(platform, source.name, /*skipped=*/false);
      set_any = true;
    }
    if (set_any) result.set.push_back(source.name);
  }

  // Record the sources, without the skipped ones if the annotations are nearly full.
  if (recorded.changed() && !SetAnnotation(pod, api::kPreferredAffinitySourcesAnnotation,
                                           recorded.ToString(/*with_skipped=*/true))) {
    SetAnnotation(pod, api::kPreferredAffinitySourcesAnnotation,
                  recorded.ToString(/*with_skipped=*/false));
  }
  SetLabel(pod, api::kPreferredNodeAffinityLabel, present.empty() ? api::kNotSet : api::kSet);
  return result;
}

}  // namespace placement

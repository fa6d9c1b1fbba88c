// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/user_fields.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/preference_model.h"

namespace sim::checker {
namespace {

constexpr std::string_view kExecFormatError = "multiarch.openshift.io/exec-format-error";
constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

bool IsOneOf(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool IsArchitectureLabel(std::string_view key) {
  return key.starts_with(api::kLabelPrefix) && IsArchitecture(key.substr(api::kLabelPrefix.size()));
}

// docs/reference.md, Labels of pods.
bool MaySetLabel(Program program, std::string_view key) {
  switch (program) {
    case Program::kShard:
      return IsOneOf(key, {api::kLocalGateLabel, api::kPreferredNodeAffinityLabel});
    case Program::kOperator:
      return IsOneOf(key, {api::kLocalGateLabel, api::kClusterGateLabel});
    case Program::kClusterController:
      return IsOneOf(key,
                     {api::kLocalGateLabel, api::kClusterGateLabel, api::kNodeAffinityLabel,
                      api::kPreferredNodeAffinityLabel, api::kSingleArchLabel, api::kMultiArchLabel,
                      api::kNoSupportedArchLabel, api::kFallbackArchLabel, api::kInspectErrorLabel,
                      api::kInspectErrorCountLabel, kExecFormatError}) ||
             IsArchitectureLabel(key);
    default:
      return false;
  }
}

// docs/reference.md, Annotations of pods.
bool MaySetAnnotation(Program program, std::string_view key) {
  if (program == Program::kShard)
    return IsOneOf(key,
                   {api::kPreferredAffinitySourcesAnnotation, api::kLocalTolerationsAnnotation});
  if (program == Program::kClusterController)
    return IsOneOf(key, {api::kPreferredAffinitySourcesAnnotation, api::kInspectErrorAnnotation,
                         api::kLocalTolerationsAnnotation, api::kRequiredTermsAnnotation});
  return false;
}

// A label that records a decision is removed only if the images are inspected again.
bool MayRemoveLabel(Program program, const Json& before, std::string_view key) {
  if (program == Program::kOperator) return true;  // of those that it may set
  if (program != Program::kClusterController) return false;
  bool narrowing = LabelOf(before, api::kNodeAffinityLabel) == api::kSet;
  return key == api::kInspectErrorLabel ||
         (narrowing && (IsArchitectureLabel(key) ||
                        IsOneOf(key, {api::kSingleArchLabel, api::kMultiArchLabel})));
}

// A pod, of which what was compared is removed.
class Remainder {
 public:
  explicit Remainder(Json pod) : pod_(std::move(pod)) {}

  void Erase(std::string_view dotted, const std::string& key) {
    if (Json* parent = At(dotted)) parent->erase(key);
  }
  // Empty maps and lists count as absent.
  void EraseIfEmpty(std::string_view dotted, const std::string& key) {
    Json* parent = At(dotted);
    if (parent == nullptr) return;
    auto found = parent->find(key);
    if (found != parent->end() && (found->is_null() || found->empty())) parent->erase(found);
  }
  void EraseGate(std::string_view gate) {
    Json* spec = At("spec");
    if (spec == nullptr || !spec->contains("schedulingGates")) return;
    Json left = Json::array();
    for (const Json& one : (*spec)["schedulingGates"]) {
      if (kube::StringAt(one, "name") != gate) left.push_back(one);
    }
    (*spec)["schedulingGates"] = std::move(left);
  }
  void EraseServerFields() {
    for (const char* key : {"resourceVersion", "generation", "managedFields"})
      Erase("metadata", key);
  }
  // Removes `dotted`.key and the objects around it that become empty.
  void EraseNodeAffinity(std::string_view list) {
    Erase("spec.affinity.nodeAffinity", std::string(list));
  }
  void EraseEmptyAffinity() {
    EraseIfEmpty("spec.affinity", "nodeAffinity");
    EraseIfEmpty("spec", "affinity");
  }
  const Json& pod() const { return pod_; }

 private:
  Json* At(std::string_view dotted) {
    Json* found = const_cast<Json*>(kube::Find(pod_, dotted));
    return found != nullptr && found->is_object() ? found : nullptr;
  }

  Json pod_;
};

std::string FirstDifferences(const Json& before, const Json& after) {
  constexpr size_t kShown = 4;
  const Json patch = Json::diff(before, after);
  std::string text;
  for (size_t i = 0; i < std::min(patch.size(), kShown); ++i) {
    if (!text.empty()) text += ", ";
    text += patch[i]["op"].get<std::string>() + " " + patch[i]["path"].get<std::string>();
  }
  if (patch.size() > kShown) text += ", ...";
  return text;
}

// Items of `before` are in `after`, in their order; calls `extra` with each item that is not.
template <typename Extra>
bool IsSubsequence(const Json& before, const Json& after, Extra extra) {
  size_t next = 0;
  for (const Json& item : after) {
    if (next < before.size() && item == before[next]) {
      ++next;
    } else {
      extra(item);
    }
  }
  return next == before.size();
}

// {"weight": W, "preference": {"matchExpressions": [{"key": arch, "operator": "In", values: [A]}]}}
bool IsPreferenceOfConfig(const Json& term) {
  const Json& expressions = kube::ListAt(term, "preference.matchExpressions");
  if (term.size() != 2 || expressions.size() != 1 || term["preference"].size() != 1) return false;
  const Json& values = kube::ListAt(expressions[0], "values");
  int64_t weight = kube::IntAt(term, "weight");
  return kube::StringAt(expressions[0], "key") == api::kArchLabel &&
         kube::StringAt(expressions[0], "operator") == "In" && values.size() == 1 &&
         values[0].is_string() && IsArchitecture(values[0].get<std::string>()) && weight >= 1 &&
         weight <= 100;
}

class Comparison {
 public:
  Comparison(const PodChange& change, Violations& violations)
      : change_(change), violations_(violations), before_(change.before), after_(change.after) {}

  void Run(bool policies) {
    before_.EraseServerFields();
    after_.EraseServerFields();
    Labels();
    Annotations();
    Gates();
    if (policies && change_.writer.Is(Program::kClusterController)) {
      EraseInBoth("spec", "affinity");
      EraseInBoth("spec", "tolerations");
      EraseInBoth("spec", "nodeSelector");
    } else {
      Required();
      Preferred();
      Tolerations();
    }
    std::string rest = FirstDifferences(before_.pod(), after_.pod());
    if (!rest.empty()) Report("changed what is not its own: " + rest);
  }

 private:
  void Report(const std::string& text) {
    violations_.push_back(At(change_.commit, "I5", change_.writer.Describe() + " " + text));
  }

  void EraseInBoth(std::string_view dotted, const std::string& key) {
    before_.Erase(dotted, key);
    after_.Erase(dotted, key);
  }

  void Labels() {
    Program program = change_.writer.program;
    for (const std::string& key : Keys(LabelsOf(change_.before), LabelsOf(change_.after))) {
      if (!MaySetLabel(program, key)) continue;
      if (HasLabel(change_.before, key) && !HasLabel(change_.after, key) &&
          !MayRemoveLabel(program, change_.before, key))
        Report("removed the label " + key);
      EraseInBoth("metadata.labels", key);
    }
    EraseEmpty("metadata", "labels");
  }

  void Annotations() {
    for (const std::string& key : Keys(AnnotationsOf(change_.before), AnnotationsOf(change_.after)))
      if (MaySetAnnotation(change_.writer.program, key)) EraseInBoth("metadata.annotations", key);
    EraseEmpty("metadata", "annotations");
  }

  // What gate_rules.h says of the operator's own gates is not repeated here.
  void Gates() {
    if (OtherGates(change_.before) != OtherGates(change_.after))
      Report("changed the gates of other controllers");
    EraseInBoth("spec", "schedulingGates");
  }

  // Terms keep what they have. Expressions are appended, and terms only added where none were.
  void Required() {
    const Json& before = RequiredTermsOf(change_.before);
    const Json& after = RequiredTermsOf(change_.after);
    if (before == after) return;
    if (!change_.writer.Is(Program::kClusterController)) {
      Report("changed the required node affinity");
    } else if (!before.empty() && before.size() != after.size()) {
      Report("changed the number of required terms");
    } else {
      for (size_t i = 0; i < before.size(); ++i) {
        if (!IsExtended(before[i], after[i]))
          Report("changed required term " + std::to_string(i) + ", instead of appending to it");
      }
    }
    for (Remainder* pod : {&before_, &after_}) {
      pod->Erase("spec.affinity.nodeAffinity." + std::string(kRequired), "nodeSelectorTerms");
      pod->EraseIfEmpty("spec.affinity.nodeAffinity", std::string(kRequired));
      pod->EraseEmptyAffinity();
    }
  }

  static bool IsExtended(const Json& before, const Json& after) {
    const Json& expressions = kube::ListAt(before, "matchExpressions");
    const Json& extended = kube::ListAt(after, "matchExpressions");
    if (extended.size() < expressions.size() ||
        !std::equal(expressions.begin(), expressions.end(), extended.begin()))
      return false;
    Json rest_before = before, rest_after = after;
    rest_before.erase("matchExpressions");
    rest_after.erase("matchExpressions");
    return rest_before == rest_after;
  }

  void Preferred() {
    // The cluster's preferences go behind those of PodPlacementConfigs.
    std::vector<PlatformWeight> of_cluster;
    const Json placed = IsPlacedBehindLocalGate(change_.before)
                            ? WithoutPreferencesOfCluster(change_.before, of_cluster)
                            : change_.before;
    const Json& before = PreferredTermsOf(placed);
    const Json& after = PreferredTermsOf(change_.after);
    if (before == after && of_cluster.empty()) return;
    if (change_.writer.Is(Program::kOperator)) Report("changed the preferred node affinity");
    bool kept = IsSubsequence(before, after, [&](const Json& added) {
      if (!IsPreferenceOfConfig(added))
        Report("added a preferred term that is no preference of a configuration");
    });
    if (!kept) Report("changed or removed a preferred term");
    for (Remainder* pod : {&before_, &after_}) {
      pod->EraseNodeAffinity(kPreferred);
      pod->EraseEmptyAffinity();
    }
  }

  void Tolerations() {
    const Json& before = TolerationsOf(change_.before);
    const Json& after = TolerationsOf(change_.after);
    if (before == after) return;
    if (!change_.writer.Is(Program::kClusterController) && !IsPlacedBehindLocalGate(change_.before))
      Report("changed the tolerations");
    bool kept = IsSubsequence(before, after, [&](const Json& added) {
      bool is_own = kube::StringAt(added, "operator") == "Equal" &&
                    IsArchitecture(kube::StringAt(added, "value")) &&
                    !added.contains("tolerationSeconds");
      if (!is_own) Report("added a toleration for no architecture");
    });
    if (!kept) Report("changed or removed a toleration");
    EraseInBoth("spec", "tolerations");
  }

  static std::set<std::string> Keys(const Json& a, const Json& b) {
    std::set<std::string> keys;
    for (const Json* map : {&a, &b}) {
      for (const auto& item : map->items()) keys.insert(item.key());
    }
    return keys;
  }

  void EraseEmpty(std::string_view dotted, const std::string& key) {
    before_.EraseIfEmpty(dotted, key);
    after_.EraseIfEmpty(dotted, key);
  }

  const PodChange& change_;
  Violations& violations_;
  Remainder before_, after_;
};

// The first member of `sent` that `stored` lacks or has with another value; "" if there is none.
// Lists may have more items at their end. A null is a field that was not set.
std::string FirstLost(const Json& sent, const Json& stored, const std::string& path) {
  if (sent.is_object() && stored.is_object()) {
    for (const auto& [key, value] : sent.items()) {
      auto found = stored.find(key);
      if (value.is_null()) continue;
      bool is_empty = value.is_structured() && value.empty();
      if (found == stored.end() && is_empty) continue;
      std::string lost =
          found == stored.end() ? path + "/" + key : FirstLost(value, *found, path + "/" + key);
      if (!lost.empty()) return lost;
    }
    return "";
  }
  if (sent.is_array() && stored.is_array()) {
    for (size_t i = 0; i < sent.size(); ++i) {
      std::string at = path + "/" + std::to_string(i);
      std::string lost = i < stored.size() ? FirstLost(sent[i], stored[i], at) : at;
      if (!lost.empty()) return lost;
    }
    return "";
  }
  return sent == stored ? "" : path;
}

}  // namespace

void CheckUserFields(const PodChange& change, bool policies, Violations& violations) {
  if (change.writer.IsOurs()) Comparison(change, violations).Run(policies);
}

void CheckAdmission(const Commit& commit, bool policies, Violations& violations) {
  if (!IsOf(commit, "", "pods") || commit.before || !commit.after || !commit.sent) return;
  // The webhooks set these whatever the author has set.
  Remainder sent(*commit.sent);
  for (std::string_view key : {api::kClusterGateLabel, api::kLocalGateLabel,
                               api::kNodeAffinityLabel, api::kPreferredNodeAffinityLabel})
    sent.Erase("metadata.labels", std::string(key));
  sent.Erase("metadata.annotations", std::string(api::kLocalConfigsAnnotation));
  // An author may write the cluster gate, too (docs/protocol.md, T15).
  if (HasLabel(*commit.after, api::kPlacedAtCreationLabel) &&
      !HasGate(*commit.after, api::kClusterGate))
    sent.EraseGate(api::kClusterGate);
  // Criteria of policies are merged with the author's.
  if (policies) sent.Erase("spec", "affinity");
  std::string lost = FirstLost(sent.pod(), *commit.after, "");
  if (!lost.empty()) violations.push_back(At(commit, "I5", "admission changed " + lost));
}

std::string DescribeDifference(const Json& before, const Json& after) {
  Remainder a(before), b(after);
  a.EraseServerFields();
  b.EraseServerFields();
  return FirstDifferences(a.pod(), b.pod());
}

bool OnlyReportsExecFormatError(const Json& before, const Json& after) {
  if (HasLabel(before, kExecFormatError) || LabelOf(after, kExecFormatError) != "true" ||
      kube::StringAt(after, "spec.nodeName").empty())
    return false;
  Remainder a(before), b(after);
  b.Erase("metadata.labels", std::string(kExecFormatError));
  for (Remainder* pod : {&a, &b}) {
    pod->EraseServerFields();
    pod->EraseIfEmpty("metadata", "labels");
  }
  return a.pod() == b.pod();
}

bool OnlyRemovesGates(const Json& before, const Json& after) {
  Remainder a(before), b(after);
  for (Remainder* pod : {&a, &b}) {
    pod->EraseServerFields();
    for (std::string_view label : {api::kClusterGateLabel, api::kLocalGateLabel})
      pod->Erase("metadata.labels", std::string(label));
    pod->EraseIfEmpty("metadata", "labels");
    pod->Erase("spec", "schedulingGates");
  }
  return OtherGates(before) == OtherGates(after) && a.pod() == b.pod();
}

}  // namespace sim::checker

// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/backfill.h"

#include <set>
#include <utility>

#include "kube/types/list_at.h"
#include "placement/gate.h"
#include "scheduling-policies/canonical.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/pod_json.h"

namespace policy {
namespace {

using kube::Json;
using kube::core::NodeSelectorTerm;
using kube::core::PodSpec;

constexpr char kNodeAffinity[] = "nodeAffinity";
constexpr char kTerms[] = "nodeSelectorTerms";
constexpr char kExpressions[] = "matchExpressions";
constexpr char kFields[] = "matchFields";

// Adds the messages of `after` whose texts `before` does not have.
template <class List>
void AddNew(const Json& before, const Json& after, List& list) {
  std::set<std::string> present = TextsOf(before);
  for (const Json& item : after) {
    if (!present.contains(CanonicalText(item))) FromJson(item, *list.Add());
  }
}

bool Includes(const Json& list, const Json& part) {
  std::set<std::string> texts = TextsOf(list);
  for (const Json& item : part) {
    if (!texts.contains(CanonicalText(item))) return false;
  }
  return true;
}

// Both lists of requirements of term `after` have what those of `before` have, and `before` is not
// empty: the API server refuses additions to a term that matches no node.
bool Extends(const Json& after, const Json& before) {
  bool empty = kube::ListAt(before, kExpressions).empty() && kube::ListAt(before, kFields).empty();
  return !empty &&
         Includes(kube::ListAt(after, kExpressions), kube::ListAt(before, kExpressions)) &&
         Includes(kube::ListAt(after, kFields), kube::ListAt(before, kFields));
}

// Makes the required terms of `spec`, which are `before`, as `after`. False if that is not allowed
// any more; `spec` is then unchanged.
bool RequireTerms(const Json& before, const Json& after, PodSpec& spec) {
  kube::core::NodeSelector required;
  if (before.empty()) {
    for (const Json& term : after) FromJson(term, *required.add_node_selector_terms());
  } else {
    if (after.size() != before.size()) return false;
    required =
        spec.affinity().node_affinity().required_during_scheduling_ignored_during_execution();
    for (size_t i = 0; i < after.size(); ++i) {
      if (!Extends(after[i], before[i])) return false;
      NodeSelectorTerm& term = *required.mutable_node_selector_terms(static_cast<int>(i));
      AddNew(kube::ListAt(before[i], kExpressions), kube::ListAt(after[i], kExpressions),
             *term.mutable_match_expressions());
      AddNew(kube::ListAt(before[i], kFields), kube::ListAt(after[i], kFields),
             *term.mutable_match_fields());
    }
  }
  *spec.mutable_affinity()
       ->mutable_node_affinity()
       ->mutable_required_during_scheduling_ignored_during_execution() = std::move(required);
  return true;
}

// Compares the pod spec before and after merging field by field, and changes the pod.
class Comparison {
 public:
  Comparison(PodSpec& spec, const Json& before, const Json& after, bool with_tolerations)
      : spec_(spec), before_(before), after_(after), with_tolerations_(with_tolerations) {}

  Backfilled Apply() && {
    NodeSelector();
    if (with_tolerations_) Tolerations();
    RequiredNodeAffinity();
    PreferredNodeAffinity();
    if (kube::StringAt(before_, "schedulerName") != kube::StringAt(after_, "schedulerName"))
      Missed("schedulerName");
    for (const AffinityList& list : kAffinityLists) {
      if (!list.of_pods) continue;
      std::string path = std::string("affinity.") + list.affinity + "." + list.list;
      if (kube::ListAt(before_, path) != kube::ListAt(after_, path)) Missed(path);
    }
    return std::move(result_);
  }

 private:
  void Added(const std::string& path) { result_.added.push_back("spec." + path); }
  void Missed(const std::string& path) { result_.missed.push_back("spec." + path); }

  void NodeSelector() {
    const Json* selector = kube::Find(after_, "nodeSelector");
    if (selector == nullptr || !selector->is_object()) return;
    int before = static_cast<int>(spec_.node_selector().size());
    for (const auto& [key, value] : selector->items()) {
      if (value.is_string()) (*spec_.mutable_node_selector()).insert({key, value});
    }
    if (static_cast<int>(spec_.node_selector().size()) > before) Added("nodeSelector");
  }

  // Merging appends to the list, and may replace what the API server wrote into it.
  void Tolerations() {
    const Json& before = kube::ListAt(before_, "tolerations");
    const Json& after = kube::ListAt(after_, "tolerations");
    for (size_t i = before.size(); i < after.size(); ++i)
      FromJson(after[i], *spec_.add_tolerations());
    if (after.size() > before.size()) Added("tolerations");
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      Missed("tolerations");
      return;
    }
  }

  void RequiredNodeAffinity() {
    std::string path = std::string("affinity.") + kNodeAffinity + "." + kRequired;
    const Json& before = kube::ListAt(before_, path + "." + kTerms);
    const Json& after = kube::ListAt(after_, path + "." + kTerms);
    if (before == after) return;
    RequireTerms(before, after, spec_) ? Added(path) : Missed(path);
  }

  void PreferredNodeAffinity() {
    std::string path = std::string("affinity.") + kNodeAffinity + "." + kPreferred;
    const Json& before = kube::ListAt(before_, path);
    const Json& after = kube::ListAt(after_, path);
    if (before.size() == after.size()) return;
    auto& list = *spec_.mutable_affinity()
                      ->mutable_node_affinity()
                      ->mutable_preferred_during_scheduling_ignored_during_execution();
    for (size_t i = before.size(); i < after.size(); ++i) FromJson(after[i], *list.Add());
    Added(path);
  }

  PodSpec& spec_;
  const Json& before_;
  const Json& after_;
  bool with_tolerations_;
  Backfilled result_;
};

}  // namespace

Backfilled Backfill(kube::core::Pod& pod, std::span<const SchedulingPolicy* const> policies) {
  if (policies.empty()) return {};
  Json before = ToJson(pod.spec());
  kube::Result<Merged> merged = MergedSpec(before, policies);
  if (!merged) return {};
  bool with_tolerations = placement::OtherGates(pod).empty();
  return Comparison(*pod.mutable_spec(), before, merged->spec, with_tolerations).Apply();
}

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/merge.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "kube/admission/json_patch.h"
#include "scheduling-policies/canonical.h"
#include "scheduling-policies/merge_cost.h"
#include "scheduling-policies/required_terms.h"
#include "scheduling-policies/spec_patch.h"

namespace policy {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

// What the API server writes where the author wrote nothing.
constexpr char kDefaultScheduler[] = "default-scheduler";
constexpr int64_t kAutomaticSeconds = 300;
constexpr std::string_view kAutomaticTolerations[] = {"node.kubernetes.io/not-ready",
                                                      "node.kubernetes.io/unreachable"};

bool IsAutomatic(const Toleration& toleration) {
  std::string key = kube::StringAt(toleration.json, "key");
  return toleration.seconds == kAutomaticSeconds &&
         kube::StringAt(toleration.json, "operator") == "Exists" &&
         kube::StringAt(toleration.json, "effect") == "NoExecute" &&
         std::find(std::begin(kAutomaticTolerations), std::end(kAutomaticTolerations), key) !=
             std::end(kAutomaticTolerations);
}

Error WrongType(const char* name, const Json& member) {
  return Error::Invalid(std::string("pod spec: ") + name +
                        " has the wrong type: " + member.type_name());
}

// Copies the member `name`, unless it is absent.
Result<> Copy(const Json& from, const char* name, Json::value_t type, Json& to) {
  auto member = from.find(name);
  if (member == from.end() || member->is_null()) return kube::Ok();
  if (member->type() != type) return WrongType(name, *member);
  to[name] = *member;
  return kube::Ok();
}

// Drops members that are null. kInvalid if one of `names` has another type than `type`.
Result<> CheckMembers(Json& object, std::initializer_list<const char*> names, Json::value_t type) {
  for (const char* name : names) {
    auto member = object.find(name);
    if (member == object.end()) continue;
    if (member->is_null()) {
      object.erase(member);
    } else if (member->type() != type) {
      return WrongType(name, *member);
    }
  }
  return kube::Ok();
}

Result<> CheckAffinity(Json& affinity) {
  constexpr auto kObject = Json::value_t::object;
  constexpr auto kArray = Json::value_t::array;
  Result<> checked =
      CheckMembers(affinity, {"nodeAffinity", "podAffinity", "podAntiAffinity"}, kObject);
  if (!checked) return checked.error();
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    if (!affinity.contains(kind)) continue;
    checked = CheckMembers(affinity[kind], {kRequired, kPreferred}, kArray);
    if (!checked) return checked.error();
  }
  if (!affinity.contains("nodeAffinity")) return kube::Ok();
  Json& node = affinity["nodeAffinity"];
  checked = CheckMembers(node, {kRequired}, kObject);
  if (!checked) return checked.error();
  checked = CheckMembers(node, {kPreferred}, kArray);
  if (!checked || !node.contains(kRequired)) return checked;
  return CheckMembers(node[kRequired], {"nodeSelectorTerms"}, kArray);
}

// The fields of a pod spec that merging changes.
Result<Json> SchedulingFields(const Json& spec) {
  constexpr std::pair<const char*, Json::value_t> kFields[] = {
      {"nodeSelector", Json::value_t::object},  {"nodeName", Json::value_t::string},
      {"schedulerName", Json::value_t::string}, {"affinity", Json::value_t::object},
      {"tolerations", Json::value_t::array},
  };
  if (!spec.is_object()) return Error::Invalid("pod spec: not a JSON object");
  Json fields = Json::object();
  for (const auto& [name, type] : kFields) {
    Result<> copied = Copy(spec, name, type, fields);
    if (!copied) return copied.error();
  }
  if (fields.contains("affinity")) {
    Result<> checked = CheckAffinity(fields["affinity"]);
    if (!checked) return checked.error();
  }
  return fields;
}

// Merges one policy after the other into `spec`.
class Merger {
 public:
  // `spec` has the fields of SchedulingFields() and outlives the merger.
  Merger(Json& spec, bool gated)
      : spec_(spec), gated_(gated), bound_(!kube::StringAt(spec, "nodeName").empty()) {}

  // `compare`: also what has to be compared with all that the spec has of it.
  void Add(const SchedulingPolicy& policy, bool compare) {
    const Criteria& criteria = policy.criteria;
    if (compare) AddTolerations(criteria);
    if (!compare) NoteSkipped(policy);
    if (bound_) return;
    AddNodeSelector(criteria);
    AddNodeName(policy);
    AddSchedulerName(criteria);
    if (compare) AddRequiredTerms(policy);
    for (size_t which = 0; which < kAffinityLists.size(); ++which)
      AddAffinityTerms(which, criteria.affinity_terms[which]);
  }

  bool TakeChanged() { return std::exchange(changed_, false); }
  std::vector<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }
  std::string TakeBeyondLimit() { return std::exchange(beyond_limit_, {}); }

 private:
  // What has to be compared is too much.
  void NoteSkipped(const SchedulingPolicy& policy) {
    const Criteria& criteria = policy.criteria;
    if (criteria.tolerations.empty() && (bound_ || criteria.required_terms.empty())) return;
    NoteBeyondLimit(policy, policy.Describe() +
                                ": required node affinity and tolerations are skipped: merging "
                                "them takes more than " +
                                std::to_string(kMaxComparisons) + " comparisons");
  }

  void NoteBeyondLimit(const SchedulingPolicy& policy, std::string warning) {
    if (policy.of_cluster() && beyond_limit_.empty()) beyond_limit_ = std::move(warning);
  }

  void AddNodeSelector(const Criteria& criteria) {
    for (const auto& [key, value] : criteria.node_selector) {
      if (spec_.contains("nodeSelector") && spec_["nodeSelector"].contains(key)) continue;
      spec_["nodeSelector"][key] = value;
      changed_ = true;
    }
  }

  void AddNodeName(const SchedulingPolicy& policy) {
    if (policy.criteria.node_name.empty() || !kube::StringAt(spec_, "nodeName").empty()) return;
    if (gated_) {
      // The API server refuses a pod with both.
      warnings_.push_back(policy.Describe() +
                          ": spec.nodeName is skipped: the pod has scheduling gates");
      return;
    }
    spec_["nodeName"] = policy.criteria.node_name;
    changed_ = true;
  }

  // The first policy that names a scheduler decides.
  void AddSchedulerName(const Criteria& criteria) {
    if (criteria.scheduler_name.empty() || std::exchange(scheduler_decided_, true)) return;
    std::string current = kube::StringAt(spec_, "schedulerName");
    if ((!current.empty() && current != kDefaultScheduler) || current == criteria.scheduler_name)
      return;
    spec_["schedulerName"] = criteria.scheduler_name;
    changed_ = true;
  }

  void AddRequiredTerms(const SchedulingPolicy& policy) {
    if (policy.criteria.required_terms.empty()) return;
    const Json* present =
        kube::Find(spec_, std::string("affinity.nodeAffinity.") + kRequired + ".nodeSelectorTerms");
    Json terms = present == nullptr ? Json::array() : *present;
    switch (RequireTerms(terms, policy.criteria.required_terms, kMaxRequiredTerms)) {
      case TermsResult::kUnchanged:
        return;
      case TermsResult::kTooMany:
        warnings_.push_back(policy.Describe() +
                            ": the required node affinity is skipped: it would "
                            "have more than " +
                            std::to_string(kMaxRequiredTerms) + " terms");
        NoteBeyondLimit(policy, warnings_.back());
        return;
      case TermsResult::kChanged:
        spec_["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"] = std::move(terms);
        changed_ = true;
    }
  }

  void AddAffinityTerms(size_t which, const std::vector<Part>& terms) {
    if (terms.empty()) return;
    const AffinityList& place = kAffinityLists[which];
    Json& list = spec_["affinity"][place.affinity][place.list];
    std::optional<std::set<std::string>>& present = affinity_terms_[which];
    if (!present) {
      present.emplace();
      for (const Json& term : list) present->insert(CanonicalText(term));
    }
    for (const Part& term : terms) {
      if (!present->insert(term.canonical).second) continue;
      list.push_back(term.json);
      changed_ = true;
    }
  }

  void AddTolerations(const Criteria& criteria) {
    if (criteria.tolerations.empty()) return;
    Json& list = spec_["tolerations"];
    if (!tolerations_) {
      tolerations_.emplace();
      for (const Json& toleration : list) tolerations_->push_back(TolerationFrom(toleration));
    }
    for (const Toleration& toleration : criteria.tolerations) AddToleration(list, toleration);
  }

  void AddToleration(Json& list, const Toleration& toleration) {
    Toleration* automatic = nullptr;
    bool present = false;
    for (Toleration& one : *tolerations_) {
      if (one.canonical != toleration.canonical) continue;
      present = true;
      // Two policies may have what the API server writes too: it is the first one's then.
      if (one.seconds == toleration.seconds) settled_tolerations_.insert(one.canonical);
      if (IsAutomatic(one)) automatic = &one;
    }
    bool settled = !settled_tolerations_.insert(toleration.canonical).second;
    if (!present) {
      list.push_back(toleration.json);
      tolerations_->push_back(toleration);
      changed_ = true;
    } else if (automatic != nullptr && !settled) {
      list[static_cast<size_t>(automatic - tolerations_->data())] = toleration.json;
      *automatic = toleration;
      changed_ = true;
    }
  }

  Json& spec_;
  const bool gated_;
  const bool bound_;
  bool changed_ = false;
  bool scheduler_decided_ = false;
  // What the spec has in each of kAffinityLists, read when first needed.
  std::array<std::optional<std::set<std::string>>, kAffinityLists.size()> affinity_terms_;
  std::optional<std::vector<Toleration>> tolerations_;
  // The canonical texts of the tolerations that some policy has decided.
  std::set<std::string> settled_tolerations_;
  std::vector<std::string> warnings_;
  std::string beyond_limit_;
};

}  // namespace

Result<Merged> MergedSpec(const Json& spec, std::span<const SchedulingPolicy* const> policies) {
  Result<Json> fields = SchedulingFields(spec);
  if (!fields) return fields.error();
  const Json* gates = kube::Find(spec, "schedulingGates");
  bool gated = gates != nullptr && gates->is_array() && !gates->empty();

  Merged result{.spec = std::move(*fields)};
  Merger merger(result.spec, gated);
  // Once, unless a policy was skipped for too many terms: a later policy may have made equal terms
  // of several, and merging the result would then not skip it. Each round with a change adds the
  // terms of at least one policy for good.
  size_t comparisons = 0;
  size_t skipped = 0;
  bool changed = true;
  while (changed && skipped == 0) {
    for (const SchedulingPolicy* policy : policies) {
      if (comparisons <= kMaxComparisons)
        comparisons += ComparisonsFor(result.spec, policy->criteria);
      bool compare = comparisons <= kMaxComparisons;
      merger.Add(*policy, compare);
      if (!compare) ++skipped;
    }
    changed = merger.TakeChanged();
    result.warnings = merger.TakeWarnings();
    result.beyond_limit = merger.TakeBeyondLimit();
    if (result.warnings.empty()) break;
  }
  if (skipped > 0) {
    result.warnings.push_back("required node affinity and tolerations of the last " +
                              std::to_string(skipped) +
                              " scheduling policies are skipped: the pod has too many of them");
  }
  return result;
}

Result<MergeResult> Merge(const Json& spec, std::string_view path,
                          std::span<const SchedulingPolicy* const> policies) {
  // Most pods.
  if (policies.empty()) return MergeResult();
  Result<Merged> merged = MergedSpec(spec, policies);
  if (!merged) return merged.error();
  kube::JsonPatch patch;
  AddDifference(spec, merged->spec, std::string(path), patch);
  return MergeResult{.patch = std::move(patch).Take(),
                     .warnings = std::move(merged->warnings),
                     .beyond_limit = std::move(merged->beyond_limit)};
}

}  // namespace policy

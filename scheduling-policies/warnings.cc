// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/warnings.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "api/label_selector.h"
#include "api/names.h"
#include "kube/base/utf8.h"

namespace policy {
namespace {

using kube::Json;
using Values = std::set<std::string>;

std::string Cut(std::string text) {
  constexpr size_t kMaxWarning = 256;
  text.resize(kube::CutUtf8(text, kMaxWarning).size());
  return text;
}

Values ValuesOf(const Json& requirement) {
  Values values;
  if (const Json* list = kube::Find(requirement, "values")) {
    for (const Json& value : *list) values.insert(value.get<std::string>());
  }
  return values;
}

// What the requirements on one label allow.
struct Allowed {
  std::optional<Values> in;
  Values not_in;
  bool absent = false;

  void Restrict(const Values& values) {
    if (!in) {
      in = values;
    } else {
      std::erase_if(*in, [&](const std::string& value) { return !values.contains(value); });
    }
  }
  bool None() const {
    if (!in) return false;
    return absent || std::all_of(in->begin(), in->end(),
                                 [&](const std::string& value) { return not_in.contains(value); });
  }
};

// The key of requirements that exclude each other; "" if there is none. `equal`: labels that are
// required as well. Gt and Lt are not compared.
std::string Contradiction(const std::map<std::string, std::string>& equal,
                          const std::vector<Json>& requirements) {
  std::map<std::string, Allowed> keys;
  std::set<std::string> present;
  for (const auto& [key, value] : equal) keys[key].Restrict({value});
  for (const Json& requirement : requirements) {
    std::string key = kube::StringAt(requirement, "key");
    std::string op = kube::StringAt(requirement, "operator");
    if (op == "In") {
      keys[key].Restrict(ValuesOf(requirement));
    } else if (op == "NotIn") {
      keys[key].not_in.merge(ValuesOf(requirement));
    } else if (op == "DoesNotExist") {
      keys[key].absent = true;
    } else {
      present.insert(key);
    }
  }
  for (const auto& [key, allowed] : keys) {
    if (allowed.None() || (allowed.absent && present.contains(key))) return key;
  }
  return "";
}

std::string ContradictionOf(const kube::meta::LabelSelector& selector) {
  Json json = api::LabelSelectorToJson(selector);
  std::map<std::string, std::string> equal;
  std::vector<Json> requirements;
  if (const Json* labels = kube::Find(json, "matchLabels")) {
    for (const auto& [key, value] : labels->items()) equal[key] = value.get<std::string>();
  }
  if (const Json* expressions = kube::Find(json, "matchExpressions"))
    requirements.assign(expressions->begin(), expressions->end());
  return Contradiction(equal, requirements);
}

bool IsInteger(const std::string& text) {
  int64_t number = 0;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

const Json& PodTermOf(const AffinityList& list, const Part& term) {
  static const Json kNone = Json::object();
  if (!list.weighted) return term.json;
  const Json* inner = kube::Find(term.json, "podAffinityTerm");
  return inner == nullptr ? kNone : *inner;
}

std::string PathOf(const AffinityList& list, size_t index) {
  return std::string("spec.affinity.") + list.affinity + "." + list.list + "[" +
         std::to_string(index) + "]";
}

// Calls `look` with each (anti-)affinity term on pods, its list and its path.
void EachPodTerm(const Criteria& criteria, auto look) {
  for (size_t which = 0; which < kAffinityLists.size(); ++which) {
    const AffinityList& list = kAffinityLists[which];
    if (!list.of_pods) continue;
    const std::vector<Part>& terms = criteria.affinity_terms[which];
    for (size_t i = 0; i < terms.size(); ++i)
      look(PodTermOf(list, terms[i]), list, PathOf(list, i));
  }
}

class Collector {
 public:
  void Add(std::string warning) {
    constexpr size_t kMaxWarnings = 20;
    if (warnings_.size() < kMaxWarnings) warnings_.push_back(Cut(std::move(warning)));
  }
  std::vector<std::string> Take() { return std::move(warnings_); }

 private:
  std::vector<std::string> warnings_;
};

void WarnOfSelectors(const SchedulingPolicy& policy, Collector& warnings) {
  auto check = [&](const std::string& name, const std::string& what, const auto& selector) {
    if (!selector) {
      warnings.Add("spec." + name + " is absent and selects no " + what + "; {} selects all");
    } else if (std::string key = ContradictionOf(*selector); !key.empty()) {
      warnings.Add("spec." + name + " selects no " + what + ": its requirements on " + key +
                   " exclude each other");
    }
  };
  check("podSelector", "pods", policy.pod_selector);
  if (policy.of_cluster()) check("namespaceSelector", "namespaces", policy.namespace_selector);
}

void WarnOfNodeName(const Criteria& criteria, Collector& warnings) {
  if (criteria.node_name.empty()) return;
  Criteria others = criteria;
  others.node_name.clear();
  others.tolerations.clear();
  if (others.empty()) return;
  warnings.Add(
      "spec.nodeName bypasses the scheduler: the kubelet fails pods whose node does not satisfy "
      "the other criteria");
}

void WarnOfNodeAffinity(const Criteria& criteria, Collector& warnings) {
  const std::string arch(api::kArchLabel);
  bool on_architecture = criteria.node_selector.contains(arch);
  for (size_t i = 0; i < criteria.required_terms.size(); ++i) {
    const RequiredTerm& term = criteria.required_terms[i];
    std::vector<Json> expressions;
    for (const Part& part : term.expressions) {
      expressions.push_back(part.json);
      std::string key = kube::StringAt(part.json, "key");
      std::string op = kube::StringAt(part.json, "operator");
      on_architecture |= key == arch;
      if ((op == "Gt" || op == "Lt") && !IsInteger(*ValuesOf(part.json).begin()))
        warnings.Add("required term " + std::to_string(i) + ", key " + key + ": operator " + op +
                     " needs an integer; the term matches no node");
    }
    if (std::string key = Contradiction(criteria.node_selector, expressions); !key.empty()) {
      warnings.Add("required term " + std::to_string(i) + " matches no node: the requirements on " +
                   key + " exclude each other");
    }
  }
  for (const Part& term : criteria.affinity_terms[0]) {
    const Json* expressions = kube::Find(term.json, "preference.matchExpressions");
    if (expressions == nullptr) continue;
    for (const Json& expression : *expressions)
      on_architecture |= kube::StringAt(expression, "key") == arch;
  }
  if (on_architecture) {
    warnings.Add(arch +
                 " in a policy counts as the pod's own: the architectures of its images and "
                 "preferences of PodPlacementConfigs are not added");
  }
}

bool IsNegative(const Json& selector) {
  const Json* expressions = kube::Find(selector, "matchExpressions");
  return expressions != nullptr &&
         std::any_of(expressions->begin(), expressions->end(), [](const Json& expression) {
           std::string op = kube::StringAt(expression, "operator");
           return op == "NotIn" || op == "DoesNotExist";
         });
}

void WarnOfPodAffinity(const Criteria& criteria, Collector& warnings) {
  auto look = [&](const Json& term, const AffinityList& list, const std::string& path) {
    const Json* selector = kube::Find(term, "namespaceSelector");
    if (selector == nullptr) return;
    if (IsNegative(*selector)) {
      warnings.Add(path +
                   ".namespaceSelector: NotIn and DoesNotExist may select every namespace "
                   "(kubernetes#141526); use In");
    }
    bool anti_affinity = std::string_view(list.affinity) == "podAntiAffinity";
    if (selector->empty() && anti_affinity && !list.weighted) {
      warnings.Add(path +
                   " is required anti-affinity to pods of all namespaces: it can keep pods of "
                   "others from whole topology domains");
    }
  };
  EachPodTerm(criteria, look);
}

}  // namespace

std::vector<std::string> WarningsFor(const SchedulingPolicy& policy) {
  if (!policy.problems.empty()) return {};  // it is refused
  Collector warnings;
  WarnOfSelectors(policy, warnings);
  if (policy.criteria.empty()) warnings.Add("the policy has no criteria: it changes no pods");
  WarnOfNodeName(policy.criteria, warnings);
  WarnOfNodeAffinity(policy.criteria, warnings);
  WarnOfPodAffinity(policy.criteria, warnings);
  return warnings.Take();
}

std::vector<std::string> CrossNamespaceTerms(const Criteria& criteria) {
  std::vector<std::string> paths;
  EachPodTerm(criteria, [&](const Json& term, const AffinityList&, const std::string& path) {
    if (term.contains("namespaces") || term.contains("namespaceSelector")) paths.push_back(path);
  });
  return paths;
}

}  // namespace policy

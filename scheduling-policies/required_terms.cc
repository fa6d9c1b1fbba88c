// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/required_terms.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kube/types/list_at.h"
#include "scheduling-policies/canonical.h"

namespace policy {
namespace {

using kube::Json;

constexpr char kExpressions[] = "matchExpressions";
constexpr char kFields[] = "matchFields";

// A term of the pod with the canonical texts of its requirements.
struct PodTerm {
  Json json;
  std::set<std::string> expressions;
  std::set<std::string> fields;

  bool Matches() const { return !expressions.empty() || !fields.empty(); }
};

PodTerm PodTermFrom(const Json& json) {
  return {.json = json,
          .expressions = TextsOf(kube::ListAt(json, kExpressions)),
          .fields = TextsOf(kube::ListAt(json, kFields))};
}

bool HasAll(const std::set<std::string>& texts, const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return texts.contains(part.canonical); });
}

bool Satisfies(const PodTerm& term, const std::vector<RequiredTerm>& required) {
  return std::any_of(required.begin(), required.end(), [&](const RequiredTerm& one) {
    return HasAll(term.expressions, one.expressions) && HasAll(term.fields, one.fields);
  });
}

// `parts`, then what the pod's list has besides.
void Prepend(const std::vector<Part>& parts, const char* list, Json& term,
             std::set<std::string>& texts) {
  if (parts.empty()) return;
  Json merged = Json::array();
  std::set<std::string> added;
  for (const Part& part : parts) {
    merged.push_back(part.json);
    added.insert(part.canonical);
  }
  for (const Json& requirement : kube::ListAt(term, list)) {
    if (!added.contains(CanonicalText(requirement))) merged.push_back(requirement);
  }
  term[list] = std::move(merged);
  texts.merge(added);
}

PodTerm And(PodTerm term, const RequiredTerm& required) {
  Prepend(required.expressions, kExpressions, term.json, term.expressions);
  Prepend(required.fields, kFields, term.json, term.fields);
  return term;
}

}  // namespace

TermsResult RequireTerms(Json& terms, const std::vector<RequiredTerm>& required, size_t limit) {
  if (terms.size() > limit) return TermsResult::kTooMany;
  std::vector<PodTerm> pod_terms;
  for (const Json& term : terms) {
    PodTerm pod_term = PodTermFrom(term);
    if (pod_term.Matches()) pod_terms.push_back(std::move(pod_term));
  }
  bool only_empty = pod_terms.empty() && !terms.empty();
  if (only_empty) return TermsResult::kUnchanged;

  if (terms.empty()) {
    pod_terms.push_back({.json = Json::object()});
  } else if (std::all_of(pod_terms.begin(), pod_terms.end(),
                         [&](const PodTerm& term) { return Satisfies(term, required); })) {
    return TermsResult::kUnchanged;
  }

  Json result = Json::array();
  std::set<std::pair<std::set<std::string>, std::set<std::string>>> seen;
  auto add = [&](PodTerm term) {
    if (seen.emplace(std::move(term.expressions), std::move(term.fields)).second)
      result.push_back(std::move(term.json));
  };
  for (PodTerm& term : pod_terms) {
    if (term.Matches() && Satisfies(term, required)) {
      add(std::move(term));
    } else {
      for (const RequiredTerm& one : required)
        add(And(&one == &required.back() ? std::move(term) : term, one));
    }
    if (result.size() > limit) return TermsResult::kTooMany;
  }
  terms = std::move(result);
  return TermsResult::kChanged;
}

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/merge_cost.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kube/types/list_at.h"

namespace policy {
namespace {

using kube::Json;

// Reading a term, a requirement or a value costs as much as so many comparisons.
constexpr size_t kReading = 10;

// Node selector terms with their requirements and values.
size_t SizeOf(const Json& terms) {
  size_t size = terms.size();
  for (const Json& term : terms) {
    for (const char* list : {"matchExpressions", "matchFields"}) {
      for (const Json& requirement : kube::ListAt(term, list))
        size += 1 + kube::ListAt(requirement, "values").size();
    }
  }
  return size;
}

size_t Requirements(const Criteria& criteria) {
  size_t count = 0;
  for (const RequiredTerm& term : criteria.required_terms)
    count += term.expressions.size() + term.fields.size();
  return count;
}

}  // namespace

size_t ComparisonsFor(const Json& spec, const Criteria& criteria) {
  size_t comparisons = kube::ListAt(spec, "tolerations").size() * criteria.tolerations.size();
  if (criteria.required_terms.empty()) return comparisons;
  const Json& terms =
      kube::ListAt(spec, std::string("affinity.nodeAffinity.") + kRequired + ".nodeSelectorTerms");
  return comparisons + kReading * SizeOf(terms) +
         std::max<size_t>(terms.size(), 1) * Requirements(criteria);
}

}  // namespace policy

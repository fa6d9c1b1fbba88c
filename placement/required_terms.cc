// SPDX-License-Identifier: Apache-2.0
#include "placement/required_terms.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "api/names.h"
#include "placement/pod_metadata.h"
#include "placement/requirement.h"
#include "placement/term_addition.h"

namespace placement {
namespace {

using kube::core::Pod;

// Removes a number from the start of `text`.
bool TakeNumber(std::string_view& text, int& number) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool Take(char expected, std::string_view& text) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

void RequiredTerms::Record(Pod& pod) {
  const auto& terms = RequiredTermsOf(pod);
  std::string text;
  bool all = true;
  for (int i = 0; i < terms.size(); ++i) {
    if (!TakesRequirement(terms[i])) {
      all = false;
      continue;
    }
    int first = i;
    while (i + 1 < terms.size() && TakesRequirement(terms[i + 1])) ++i;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (i > first) text += '-' + std::to_string(i);
  }
  if (all || !SetAnnotation(pod, api::kRequiredTermsAnnotation, text))
    RemoveAnnotation(pod, api::kRequiredTermsAnnotation);
}

RequiredTerms RequiredTerms::Of(const Pod& pod) {
  RequiredTerms terms;
  const auto& annotations = pod.metadata().annotations();
  auto found = annotations.find(std::string(api::kRequiredTermsAnnotation));
  terms.all_ = found == annotations.end();
  if (terms.all_) return terms;
  std::string_view text = found->second;
  int next = 0;
  do {
    std::pair<int, int> range;
    if (!TakeNumber(text, range.first) || range.first < next) break;
    range.second = range.first;
    if (Take('-', text) && (!TakeNumber(text, range.second) || range.second <= range.first)) break;
    terms.ranges_.push_back(range);
    next = range.second;
  } while (Take(',', text));
  return terms;
}

bool RequiredTerms::Has(int term) const {
  if (all_) return true;
  auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                    [&](const auto& before) { return before.second < term; });
  return range != ranges_.end() && range->first <= term;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/cached_selectors.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace fleet::cel {
namespace {

using kube::Code;
using kube::Result;

class ScoresOf final : public ScoreReader {
 public:
  ScoresOf(ClusterTexts& clusters, const std::string& cluster)
      : clusters_(clusters), cluster_(cluster) {}
  Result<std::vector<Score>> Scores(std::string_view name) override {
    return clusters_.Scores(cluster_, name);
  }

 private:
  ClusterTexts& clusters_;
  const std::string& cluster_;
};

}  // namespace

std::optional<std::string> CachedSelectors::Check(const std::string& expression) {
  Result<Expression> compiled = evaluator_.Compile(expression);
  if (compiled) return std::nullopt;
  if (compiled.error().code() == Code::kInvalid) return compiled.error().message();
  unanswered_ = true;
  return std::nullopt;
}

CelSelectors::Verdict CachedSelectors::Matches(const std::vector<std::string>& expressions,
                                               const std::string& cluster) {
  size_t index = IndexOf(expressions);
  std::vector<Outcome>& outcomes = known_[cluster];
  outcomes.resize(selectors_.size(), kUnknown);
  std::string why;
  if (outcomes[index] == kUnknown) EvaluateAll(cluster, outcomes, index, why);
  Outcome outcome = outcomes[index];
  if (outcome == kUnknown) {
    unanswered_ = true;
    return {false, std::move(why)};
  }
  if (outcome < kFirstError) return {outcome == kMatch, ""};
  return {false, selectors_[index].errors[outcome - kFirstError]};
}

bool CachedSelectors::TakeUnanswered() { return std::exchange(unanswered_, false); }

void CachedSelectors::ScoresChanged(const std::string& cluster, const std::string& name) {
  auto found = known_.find(cluster);
  if (found == known_.end()) return;
  std::vector<Outcome>& outcomes = found->second;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Expression& reads = selectors_[i].reads;
    bool reads_it = std::find(reads.scores.begin(), reads.scores.end(), name) != reads.scores.end();
    if (reads.any_scores || reads_it) outcomes[i] = kUnknown;
  }
}

void CachedSelectors::Retain(std::span<const Selector> used) {
  const std::set<Selector> wanted(used.begin(), used.end());
  std::vector<size_t> kept;
  for (size_t i = 0; i < selectors_.size(); ++i) {
    if (wanted.contains(selectors_[i].selector)) kept.push_back(i);
  }
  if (kept.size() == selectors_.size()) return;
  for (auto& [cluster, outcomes] : known_) {
    outcomes.resize(selectors_.size(), kUnknown);
    for (size_t i = 0; i < kept.size(); ++i) outcomes[i] = outcomes[kept[i]];
    outcomes.resize(kept.size());
  }
  index_.clear();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i != kept[i]) selectors_[i] = std::move(selectors_[kept[i]]);
    index_[selectors_[i].selector] = i;
  }
  selectors_.resize(kept.size());
}

size_t CachedSelectors::IndexOf(const Selector& selector) {
  auto found = index_.find(selector);
  if (found != index_.end()) return found->second;
  if (selectors_.size() >= kMaxSelectors) {
    selectors_.clear();
    index_.clear();
    known_.clear();
  }
  Expression reads;
  for (const std::string& expression : selector) {
    Result<Expression> compiled = evaluator_.Compile(expression);
    // One that was not compiled may read anything.
    reads.any_scores = reads.any_scores || !compiled || compiled->any_scores;
    if (!compiled) continue;
    reads.scores.insert(reads.scores.end(), compiled->scores.begin(), compiled->scores.end());
  }
  index_[selector] = selectors_.size();
  selectors_.push_back({selector, std::move(reads), {}});
  return selectors_.size() - 1;
}

void CachedSelectors::EvaluateAll(const std::string& cluster, std::vector<Outcome>& outcomes,
                                  size_t wanted, std::string& unanswered) {
  std::optional<std::string> text = clusters_.Json(cluster);
  if (!text) {
    unanswered = "the ManagedCluster is not known";
    return;
  }
  std::vector<Selector> selectors;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] != kUnknown) continue;
    selectors.push_back(selectors_[i].selector);
    indexes.push_back(i);
  }
  ScoresOf scores(clusters_, cluster);
  std::vector<cel::Verdict> verdicts = evaluator_.Match(selectors, *text, scores);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    cel::Verdict& verdict = verdicts[i];
    Outcome& outcome = outcomes[indexes[i]];
    switch (verdict.outcome) {
      case cel::Verdict::Outcome::kMatch:
        outcome = kMatch;
        break;
      case cel::Verdict::Outcome::kNoMatch:
        outcome = kNoMatch;
        break;
      case cel::Verdict::Outcome::kError:
        outcome = ErrorOf(selectors_[indexes[i]], std::move(verdict.why));
        break;
      case cel::Verdict::Outcome::kUnanswered:
        if (indexes[i] == wanted) unanswered = std::move(verdict.why);
        break;
    }
  }
}

CachedSelectors::Outcome CachedSelectors::ErrorOf(Known& known, std::string why) {
  constexpr size_t kMax = std::numeric_limits<Outcome>::max() - kFirstError;
  std::vector<std::string>& errors = known.errors;
  auto found = std::find(errors.begin(), errors.end(), why);
  if (found == errors.end()) {
    // Errors that name a value of the cluster are as many as clusters.
    if (errors.size() == kMax) why = "the evaluation failed";
    if (errors.size() <= kMax) errors.push_back(std::move(why));
    found = errors.end() - 1;
  }
  return static_cast<Outcome>(kFirstError + (found - errors.begin()));
}

}  // namespace fleet::cel

// SPDX-License-Identifier: Apache-2.0
// CachedSelectors: the CelSelectors of scheduling. Evaluates by an Evaluator, and keeps each
// verdict until what the expressions read has changed.
//
//   CachedSelectors selectors(evaluator, clusters);
//   Scheduled scheduled = Schedule(placement, fleet, now, selectors);
//   if (selectors.TakeUnanswered()) ...  // keep the decisions; another pass
//
// The first question about a cluster evaluates all selectors in use for it: reading the cluster is
// most of the work. A verdict needs one byte. Thread: the Evaluator's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/cel/evaluator.h"
#include "fleet/scheduling/cel_selectors.h"
#include "kube/base/error.h"

namespace fleet::cel {

// What expressions read.
class ClusterTexts {
 public:
  virtual ~ClusterTexts() = default;
  // The ManagedCluster as JSON; nullopt if there is none.
  virtual std::optional<std::string> Json(const std::string& cluster) = 0;
  // As ScoreReader.
  virtual kube::Result<std::vector<Score>> Scores(const std::string& cluster,
                                                  std::string_view name) = 0;
};

class CachedSelectors final : public CelSelectors {
 public:
  // Selectors whose verdicts are kept; with one more, all verdicts are forgotten.
  static constexpr size_t kMaxSelectors = 2000;

  CachedSelectors(Evaluator& evaluator, ClusterTexts& clusters)
      : evaluator_(evaluator), clusters_(clusters) {}

  // CelSelectors. An expression counts as one that compiles, and a cluster does not match, if the
  // evaluator does not answer: see TakeUnanswered().
  std::optional<std::string> Check(const std::string& expression) override;
  CelSelectors::Verdict Matches(const std::vector<std::string>& expressions,
                                const std::string& cluster) override;

  // Whether the evaluator has not answered a question since the last call: what was decided with
  // the answers must not be used.
  bool TakeUnanswered();

  // Forgets what is not true any more. A changed or deleted ManagedCluster:
  void ClusterChanged(const std::string& cluster) { known_.erase(cluster); }
  // A changed or deleted AddOnPlacementScore `name` in the cluster's namespace:
  void ScoresChanged(const std::string& cluster, const std::string& name);
  // Selectors that are not in `used` are not evaluated any more. For changed Placements.
  void Retain(std::span<const Selector> used);

 private:
  // An outcome: one of these, or kFirstError plus the index of an error of the selector.
  using Outcome = uint8_t;
  static constexpr Outcome kUnknown = 0, kMatch = 1, kNoMatch = 2, kFirstError = 3;

  struct Known {
    Selector selector;
    Expression reads;  // of all expressions
    std::vector<std::string> errors;
  };

  size_t IndexOf(const Selector& selector);
  void EvaluateAll(const std::string& cluster, std::vector<Outcome>& outcomes, size_t wanted,
                   std::string& unanswered);
  static Outcome ErrorOf(Known& known, std::string why);

  Evaluator& evaluator_;
  ClusterTexts& clusters_;
  std::vector<Known> selectors_;
  std::map<Selector, size_t> index_;
  // Cluster -> an outcome for each of selectors_; a shorter vector has kUnknown for the rest.
  std::unordered_map<std::string, std::vector<Outcome>> known_;
  bool unanswered_ = false;
};

}  // namespace fleet::cel

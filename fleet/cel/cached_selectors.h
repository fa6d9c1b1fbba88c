// SPDX-License-Identifier: Apache-2.0
// CachedSelectors: the CelSelectors of scheduling. A pass reads the verdicts that are known and
// notes the others; these are found out between passes, so that no expression delays anything but
// Placements with CEL.
//
//   selectors.Begin(placement.ns);
//   Scheduled scheduled = Schedule(placement, fleet, now, selectors);
//   Questions questions = selectors.TakeQuestions();
//   if (!questions.empty()) {
//     Result<Duration> wait = co_await selectors.Answer(std::move(questions));
//     ... another pass, after that time ...
//   }
//
// A verdict is kept until what its expressions read has changed, and needs one byte. Reading a
// cluster is most of the work, so the selectors of the namespace are evaluated for it together,
// never with those of another one. A selector that was never evaluated, or was in a failed request,
// is evaluated alone. Each namespace has a budget of time (budget.h); one that has used it up
// waits. It is answered for one caller at a time (answering.h), so that nothing is evaluated twice.
// A selector that ended the evaluator alone, or took too long, is refused for some time.
// Thread: one executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fleet/cel/answering.h"
#include "fleet/cel/budget.h"
#include "fleet/cel/evaluator.h"
#include "fleet/cel/questions.h"
#include "fleet/scheduling/cel_selectors.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"

namespace fleet::cel {

// The entries of each AddOnPlacementScore of a cluster.
using ScoreTable = std::map<std::string, std::vector<Score>, std::less<>>;

// What expressions read.
class ClusterTexts {
 public:
  virtual ~ClusterTexts() = default;
  // The ManagedCluster as JSON; nullopt if there is none.
  virtual std::optional<std::string> Json(const std::string& cluster) = 0;
  virtual ScoreTable Scores(const std::string& cluster) = 0;
  // Why expressions cannot read the ManagedCluster, or "": then each is this error.
  virtual std::string Refusal(const std::string& /*cluster*/) { return ""; }
};

// A selector of the Placements of a namespace.
struct UsedSelector {
  std::string ns;
  Selector selector;

  auto operator<=>(const UsedSelector&) const = default;
};

class CachedSelectors final : public CelSelectors {
 public:
  // Selectors that are kept, and the bytes of their texts. Further ones are refused.
  struct Size {
    size_t selectors = 0;
    size_t bytes = 0;
  };
  static constexpr Size kMax{2000, 16 << 20};
  static constexpr Size kMaxOfNamespace{200, 1 << 20};
  // The first ones of each namespace. All beyond these together get half of kMax, so that a few
  // namespaces leave room for others.
  static constexpr Size kOfEach{10, 64 << 10};
  // Bytes of different errors that are kept, of a namespace and in all: another error is "the
  // evaluation failed".
  static constexpr size_t kMaxErrorsOfNamespace = 64 << 10;
  static constexpr size_t kMaxErrors = 8 << 20;
  // How long a selector is refused that ended the evaluator or took too long, and how much more of
  // its namespace's budget this costs than what it used.
  static constexpr std::chrono::minutes kRefusal{10};
  static constexpr int kFatalFactor = 10;

  // The namespaces that are answered at a time, by default.
  static constexpr size_t kMaxAnswered = 4;

  // The references outlive this. `max_answered`: namespaces that are answered at a time.
  CachedSelectors(Evaluator& evaluator, ClusterTexts& clusters, kube::Clock& clock,
                  size_t max_answered = kMaxAnswered)
      : evaluator_(evaluator), clusters_(clusters), clock_(clock), answering_(max_answered) {}

  // A pass for a Placement of this namespace begins.
  void Begin(const std::string& ns);
  // CelSelectors. What is not known counts as an expression that compiles, and as no match.
  std::optional<std::string> Check(const std::string& expression) override;
  CelSelectors::Verdict Matches(const std::vector<std::string>& expressions,
                                const std::string& cluster) override;
  // What was not known. If there is any, the result of the pass must not be used.
  Questions TakeQuestions();
  // Why a selector of the pass is refused, or "". If one is, the result must not be used.
  std::string TakeRefusal() { return std::exchange(refusal_, std::string()); }

  // Evaluates the questions. Returns: zero, or after which time to ask again: the namespace has
  // used up its budget, or is being answered for another caller, or enough others are. Errors:
  // those of the evaluator; they say nothing about an expression.
  kube::Async<kube::Duration> Answer(Questions questions);
  // Whether Answer() would not answer the namespace now, so that a pass would only be repeated.
  bool Busy(const std::string& ns) const { return answering_.Busy(ns, clock_.Now()); }

  // These calls drop outdated verdicts. A changed or deleted ManagedCluster:
  void ClusterChanged(const std::string& cluster);
  // A changed or deleted AddOnPlacementScore `name` in the cluster's namespace:
  void ScoresChanged(const std::string& cluster, const std::string& name);
  // Selectors that are not in `used` are not evaluated any more. For changed Placements.
  void Retain(std::span<const UsedSelector> used);
  // Why `selector` would be refused if it is a new one of this namespace: the limit that is
  // reached. nullopt: it would not be.
  std::optional<std::string> Full(const std::string& ns, const Selector& selector) const;

 private:
  // An outcome: one of these (kOtherError: an error that is not kept), or kFirstError plus the
  // index of an error of the selector.
  using Outcome = uint8_t;
  static constexpr Outcome kUnknown = 0, kMatch = 1, kNoMatch = 2, kOtherError = 3, kFirstError = 4;

  struct Known {
    UsedSelector of;
    Expression reads;  // of all expressions
    std::vector<std::string> errors;
    bool proven = false;  // evaluated before, and not in a request that failed since
    std::string refusal;
    kube::TimePoint refused_until;
  };
  // A compiled text.
  struct Text {
    std::string problem;  // why it is no expression, or ""
    Expression expression;
    std::optional<kube::TimePoint> until;  // of a refused one
  };
  // An evaluation in progress. Its result is not used if the cluster has changed.
  struct InFlight {
    const std::string& cluster;
    bool stale = false;
  };

  // nullptr if it is not known.
  const Text* TextOf(const std::string& expression);
  // nullopt with a refusal, or if an expression is not known.
  std::optional<size_t> IndexOf(const Selector& selector);
  std::optional<size_t> IndexIn(const std::string& ns, const Selector& selector) const;
  void Add(Known known);
  bool Refused(const Known& known) const { return clock_.Now() < known.refused_until; }
  kube::Duration WaitOf(const std::string& ns) const { return budget_.Wait(ns, clock_.Now()); }

  // How long the answer is to be interrupted: the budget is used up, or the turn is over.
  kube::Duration PauseOf(const std::string& ns, kube::TimePoint start) const;
  kube::Async<> Compile(const std::string& ns, const std::string& text);
  // As Answer(), for a cluster. `start`: of the turn.
  kube::Async<kube::Duration> Evaluate(const std::string& ns, const std::string& cluster,
                                       kube::TimePoint start);
  // The unknown verdicts of the namespace for `cluster`.
  using Batch = std::vector<Selector>;
  std::vector<Batch> BatchesFor(const std::string& ns, const std::string& cluster) const;
  kube::Async<> EvaluateTogether(const std::string& ns, const std::string& cluster, Batch batch);
  // Keeps a verdict and returns what its namespace is charged. `alone`: in a request of its own.
  kube::Duration Keep(Known& known, Outcome& outcome, cel::Verdict verdict, bool alone);
  Outcome ErrorOf(Known& known, std::string why);

  Evaluator& evaluator_;
  ClusterTexts& clusters_;
  kube::Clock& clock_;
  Answering answering_;
  Budget budget_;
  kube::LruMap<Text> texts_{4 * kMax.selectors};  // by a digest: texts may be long
  std::vector<Known> selectors_;
  Size size_;  // of selectors_
  size_t error_bytes_ = 0;
  struct Namespace {
    std::map<Selector, size_t> index;  // in selectors_
    Size size;
    size_t error_bytes = 0;
  };
  std::map<std::string, Namespace> namespaces_;
  // Cluster -> an outcome for each of selectors_; a shorter vector has kUnknown for the rest.
  std::unordered_map<std::string, std::vector<Outcome>> known_;
  std::list<InFlight*> in_flight_;
  // The questions of the pass.
  Questions questions_;
  std::string refusal_;
};

}  // namespace fleet::cel

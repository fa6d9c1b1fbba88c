// SPDX-License-Identifier: Apache-2.0
// Evaluator: CEL of a Placement's celSelector.
//
//   Evaluator evaluator(executor, kube::RealClock(), {.program = "/cel-evaluator"});
//   Result<Compilation> compilation = co_await evaluator.Compile(text);
//   Result<Evaluation> evaluation = co_await evaluator.Match(selectors, cluster_json, scores);
//
// The language is OCM's: cel-go's standard, strings and optionals; Kubernetes' lists, regex, URL,
// quantity, IP, CIDR, format and semver; the variable managedCluster, the object as JSON;
// `managedCluster.scores("NAME")`, a list of {name, value}; `"TEXT".parseJSON()`, with doubles.
//
// cel-go runs in a child process that is started by the first call, and again after each failure:
// expressions are untrusted, and some can neither be interrupted nor be limited in memory
// (docs/decisions/fleet-cel.md). A child that does not answer within `patience` is killed, and
// there is never more than one: the next one is started once the killed one has ended. Calls are
// done one after the other, in their order. Thread: the executor's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/cel/evaluator_process.h"
#include "fleet/cel/messages.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/slots.h"

namespace fleet::cel {

struct Verdict {
  enum class Outcome {
    kMatch,
    kNoMatch,
    // The selector has no result for this cluster: a runtime error, no boolean, too expensive.
    // Means no match; the same call gives it again.
    kError,
    // This selector, or another one of the same request, ended the evaluator or exhausted
    // `patience`. Each further attempt may cost as much.
    kFatal,
    // There is no evaluator, or this process was too busy to talk to it. Says nothing about the
    // selector.
    kUnanswered,
  };
  Outcome outcome = Outcome::kNoMatch;
  std::string why;  // of all but kMatch and kNoMatch: one line, at most kMaxErrorBytes
  // CPU time, without reading the cluster. For kFatal: its part of what the request used.
  std::chrono::microseconds cost{0};
};

// Results, and what the evaluator used for them: its CPU time, so that no caller pays for a busy
// event loop or machine; if it did not answer, at least the time that this process waited for it.
// At most the patience with each request, and without the start of the evaluator.
struct Compilation {
  kube::Duration used{};
  // Errors: kInvalid with the compiler's words; kDeadlineExceeded if the text ended the evaluator
  // or exhausted `patience`; others are the evaluator's and say nothing about the text.
  kube::Result<Expression> expression = Expression();
};
struct Evaluation {
  kube::Duration used{};
  std::vector<Verdict> verdicts;  // one for each selector
};

// The scores of the cluster that is evaluated.
class ScoreReader {
 public:
  virtual ~ScoreReader() = default;
  // The entries of the AddOnPlacementScore with this name in the cluster's namespace. An error
  // becomes the error of the expression. Must not throw.
  virtual kube::Result<std::vector<Score>> Scores(std::string_view name) = 0;
};

struct EvaluatorOptions {
  // Path of the evaluator (//fleet/cel/evaluator).
  std::string program;
  Limits limits;
  // How long to wait for the answer to a request, besides the CPU time of `limits` for each
  // selector, and for the evaluator to start; also their CPU time. Waiting counts while the event
  // loop has nothing else to do.
  std::chrono::milliseconds patience{1000};
  std::chrono::milliseconds start_patience{10'000};
  // How much longer a request may take because the event loop is busy with other work: other
  // callers wait for their turn. Its end says nothing about the selectors.
  std::chrono::milliseconds busy_patience{4000};
  // How long to wait after a failed start before the evaluator is started again.
  std::chrono::seconds start_pause{5};
};

class Evaluator {
 public:
  // Sizes of an expression, and of all expressions of a selector; OCM's CRD has no limits.
  static constexpr size_t kMaxExpressionBytes = 16 * 1024;
  static constexpr size_t kMaxSelectorBytes = 256 * 1024;
  // The size of a ManagedCluster; the API server's limit for an object is not much larger.
  static constexpr size_t kMaxClusterBytes = 1 << 20;

  // `clock` outlives this.
  Evaluator(kube::Executor executor, kube::Clock& clock, EvaluatorOptions options);

  // Errors of both: kCancelled, which also ends the child if it works for this caller;
  // kDeadlineExceeded after an hour in the queue.
  kube::Async<Compilation> Compile(std::string text);

  // Which of `selectors` match the ManagedCluster `cluster` (JSON). Many in one request cost little
  // more than one: reading the cluster is most of the work. kMaxTogether are one request, if they
  // are not very long. The arguments stay valid until it returns.
  static constexpr size_t kMaxTogether = 20;
  kube::Async<Evaluation> Match(std::span<const Selector> selectors, std::string_view cluster,
                                ScoreReader& scores);

  // The number of evaluators that were started, for metrics and tests.
  int starts() const { return starts_; }

 private:
  using Evaluations = std::vector<Evaluated>;
  template <class Answer>
  using Talk = std::function<kube::Async<Answer>()>;

  // Why `selector` is not evaluated at all.
  static std::optional<Verdict> Refused(const Selector& selector, std::string_view cluster);
  // Errors: as Compilation::expression.
  kube::Async<Expression> CompileNow(const std::string& text);
  // Errors: kCancelled.
  kube::Async<> MatchTogether(std::span<const Selector> selectors, std::span<Verdict*> verdicts,
                              std::string_view cluster, ScoreReader& scores);

  // Errors of both: kNotFound (no such program), kUnavailable, kCancelled.
  kube::Async<> Start();
  kube::Async<> StartNow();
  // Ends the process. One that has not ended after a while remains until the next Start().
  boost::asio::awaitable<void> End();
  // `talk` with the running evaluator, within limits; once more if it ended, which may have been
  // before. Errors: kDeadlineExceeded (the request ended the evaluator, or exhausted `patience`),
  // kUnavailable (says nothing about the request), kCancelled.
  template <class Answer>
  kube::Async<Answer> Ask(Talk<Answer> talk, kube::Duration patience);
  kube::Async<Compiled> TalkCompile(const std::string& text);
  kube::Async<Evaluations> TalkEvaluate(std::span<const Selector> selectors,
                                        std::string_view cluster, ScoreReader& scores);
  kube::Async<kube::Slots::Lease> AwaitTurn();

  kube::Executor executor_;
  kube::Clock& clock_;
  EvaluatorOptions options_;
  // One call at a time talks to the process.
  std::shared_ptr<kube::Slots> turn_;
  std::unique_ptr<EvaluatorProcess> process_;
  kube::Duration used_{};  // by the call
  int starts_ = 0;
  // The result of the last start.
  kube::Result<void> started_;
  kube::TimePoint started_at_;
};

}  // namespace fleet::cel

// SPDX-License-Identifier: Apache-2.0
// Evaluator: CEL of a Placement's celSelector. Its calls block (evaluator_thread.h).
//
//   Evaluator evaluator(kube::RealClock(), {.program = "/cel-evaluator"});
//   Result<Expression> expression = evaluator.Compile(text);
//   if (!expression) return Misconfigured(expression.error().message());
//   Verdict verdict = evaluator.Match({{text}}, cluster_json, scores_of_the_cluster)[0];
//
// The language is OCM's: cel-go's standard, strings and optionals; Kubernetes' lists, regex, URL,
// quantity, IP, CIDR, format and semver; the variable managedCluster, the object as JSON;
// `managedCluster.scores("NAME")`, a list of {name, value}; `"TEXT".parseJSON()`, with doubles.
//
// cel-go runs in a child process that is started by the first call, and again after each failure:
// expressions are untrusted, and some can neither be interrupted nor be limited in memory
// (docs/decisions/fleet-cel.md). Calls block until the child answers; a child that does not answer
// within `patience` is killed. Thread: one at a time.
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
#include "kube/base/clock.h"
#include "kube/base/error.h"

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
    // There is no evaluator. Says nothing about the selector.
    kUnanswered,
  };
  Outcome outcome = Outcome::kNoMatch;
  std::string why;  // of all but kMatch and kNoMatch: one line, at most kMaxErrorBytes
  // CPU time, without reading the cluster. For kFatal: its part of the wall time of the request.
  std::chrono::microseconds cost{0};
};

// The scores of the cluster that is evaluated.
class ScoreReader {
 public:
  virtual ~ScoreReader() = default;
  // The entries of the AddOnPlacementScore with this name in the cluster's namespace. An error
  // becomes the error of the expression. Must not throw or call the Evaluator.
  virtual kube::Result<std::vector<Score>> Scores(std::string_view name) = 0;
};

struct EvaluatorOptions {
  // Path of the evaluator (//fleet/cel/evaluator).
  std::string program;
  Limits limits;
  // Wall time for the answer to a call, besides the CPU time of `limits` for each selector, and for
  // the evaluator to start.
  std::chrono::milliseconds patience{1000};
  std::chrono::milliseconds start_patience{10'000};
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

  Evaluator(kube::Clock& clock, EvaluatorOptions options);

  // Errors: kInvalid with the compiler's words; kDeadlineExceeded if the text ended the evaluator
  // or exhausted `patience`; others are the evaluator's and say nothing about the text.
  kube::Result<Expression> Compile(const std::string& text);

  // Which of `selectors` match the ManagedCluster `cluster` (JSON); a verdict for each. Many in one
  // request cost little more than one: reading the cluster is most of the work. kMaxTogether are
  // one request, if they are not very long.
  static constexpr size_t kMaxTogether = 20;
  std::vector<Verdict> Match(std::span<const Selector> selectors, std::string_view cluster,
                             ScoreReader& scores);

  // The number of evaluators that were started, for metrics and tests.
  int starts() const { return starts_; }

 private:
  using Deadline = EvaluatorProcess::Deadline;
  using Evaluations = std::vector<Evaluated>;

  // Why `selector` is not evaluated at all.
  static std::optional<Verdict> Refused(const Selector& selector, std::string_view cluster);
  void MatchTogether(std::span<const Selector> selectors, std::span<Verdict*> verdicts,
                     std::string_view cluster, ScoreReader& scores);

  kube::Result<void> Start();
  kube::Result<void> StartNow();
  // `talk` with a running evaluator; once more if it ended, which may have been before.
  template <class Answer>
  kube::Result<Answer> Ask(const std::function<kube::Result<Answer>()>& talk);
  kube::Result<Compiled> TalkCompile(const std::string& text, Deadline deadline);
  kube::Result<Evaluations> TalkEvaluate(std::span<const Selector> selectors,
                                         std::string_view cluster, ScoreReader& scores,
                                         Deadline deadline);

  kube::Clock& clock_;
  EvaluatorOptions options_;
  std::unique_ptr<EvaluatorProcess> process_;
  int starts_ = 0;
  // The result of the last start.
  kube::Result<void> started_;
  kube::TimePoint started_at_;
};

}  // namespace fleet::cel

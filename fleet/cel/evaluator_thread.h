// SPDX-License-Identifier: Apache-2.0
// EvaluatorThread: an Evaluator on a thread of its own, because its calls block. Calls are done one
// after the other, in their order.
//
//   EvaluatorThread evaluator(kube::RealClock(), {.program = "/cel-evaluator"});
//   Result<Evaluation> evaluation = co_await evaluator.Match(selectors, cluster_json, scores);
//
// A call that has begun is finished even if its caller is cancelled and leaves. Thread: one
// executor, which outlives this. The destructor waits for the call that is being done.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <string>
#include <vector>

#include "fleet/cel/evaluator.h"
#include "fleet/cel/messages.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace fleet::cel {

// The entries of each AddOnPlacementScore of a cluster.
using ScoreTable = std::map<std::string, std::vector<Score>, std::less<>>;

// Results, and the wall time that the evaluator worked for them.
struct Compilation {
  kube::Duration took{};
  kube::Result<Expression> expression = Expression();  // as Evaluator::Compile()
};
struct Evaluation {
  kube::Duration took{};
  std::vector<Verdict> verdicts;  // as Evaluator::Match()
};

class EvaluatorThread {
 public:
  // `clock` outlives this and may be used by any thread.
  EvaluatorThread(kube::Clock& clock, EvaluatorOptions options);
  ~EvaluatorThread();
  EvaluatorThread(const EvaluatorThread&) = delete;
  EvaluatorThread& operator=(const EvaluatorThread&) = delete;

  // Errors of both: kCancelled.
  kube::Async<Compilation> Compile(std::string text);
  kube::Async<Evaluation> Match(std::vector<Selector> selectors, std::string cluster,
                                ScoreTable scores);

 private:
  Evaluator evaluator_;
  boost::asio::thread_pool thread_{1};
};

}  // namespace fleet::cel

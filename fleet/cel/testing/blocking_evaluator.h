// SPDX-License-Identifier: Apache-2.0
// BlockingEvaluator: an Evaluator with an event loop of its own, for tests, fuzzing and benchmarks.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/cel/evaluator.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace fleet::cel {

class BlockingEvaluator {
 public:
  BlockingEvaluator(kube::Clock& clock, EvaluatorOptions options)
      : evaluator_(io_.get_executor(), clock, std::move(options)) {}

  kube::Result<Expression> Compile(std::string text) {
    return Finish(evaluator_.Compile(std::move(text))).value().expression;
  }
  std::vector<Verdict> Match(std::span<const Selector> selectors, std::string_view cluster,
                             ScoreReader& scores) {
    return Finish(evaluator_.Match(selectors, cluster, scores)).value().verdicts;
  }
  int starts() const { return evaluator_.starts(); }

 private:
  template <class T>
  kube::Result<T> Finish(kube::Async<T> call) {
    auto result = boost::asio::co_spawn(io_, std::move(call), boost::asio::use_future);
    io_.restart();
    io_.run();
    return result.get();
  }

  boost::asio::io_context io_;
  Evaluator evaluator_;
};

}  // namespace fleet::cel

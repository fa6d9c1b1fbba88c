// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator_thread.h"

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "kube/base/notifier.h"

namespace fleet::cel {
namespace {

namespace asio = boost::asio;
using kube::Async;
using kube::Result;
using std::chrono::steady_clock;

class TableReader final : public ScoreReader {
 public:
  explicit TableReader(const ScoreTable& table) : table_(table) {}
  Result<std::vector<Score>> Scores(std::string_view name) override {
    auto found = table_.find(name);
    if (found != table_.end()) return found->second;
    return kube::Error::NotFound("there is no AddOnPlacementScore " + std::string(name));
  }

 private:
  const ScoreTable& table_;
};

// A call, shared by its caller, who may be cancelled and leave, and the thread.
template <class T>
struct Call {
  std::optional<T> result;
  kube::Notifier done;
};

// Does `work` on `thread`.
template <class T, class Work>
Async<T> On(asio::thread_pool& thread, Work work) {
  co_await kube::IgnoreCancellation();
  kube::Executor executor = co_await asio::this_coro::executor;
  auto call = std::make_shared<Call<T>>();
  asio::post(thread, [call, executor, work = std::move(work)]() mutable {
    T result = work();
    asio::post(executor, [call = std::move(call), result = std::move(result)]() mutable {
      call->result = std::move(result);
      call->done.NotifyAll();
    });
  });
  while (!call->result) {
    Result<> waited = co_await call->done.Wait();
    if (!waited) co_return waited.error();
  }
  co_return std::move(*call->result);
}

}  // namespace

EvaluatorThread::EvaluatorThread(kube::Clock& clock, EvaluatorOptions options)
    : evaluator_(clock, std::move(options)) {}

EvaluatorThread::~EvaluatorThread() {
  thread_.stop();
  thread_.join();
}

Async<Compilation> EvaluatorThread::Compile(std::string text) {
  auto work = [this, text = std::move(text)] {
    auto begun = steady_clock::now();
    Result<Expression> expression = evaluator_.Compile(text);
    return Compilation{steady_clock::now() - begun, std::move(expression)};
  };
  return On<Compilation>(thread_, std::move(work));
}

Async<Evaluation> EvaluatorThread::Match(std::vector<Selector> selectors, std::string cluster,
                                         ScoreTable scores) {
  auto work = [this, selectors = std::move(selectors), cluster = std::move(cluster),
               scores = std::move(scores)] {
    TableReader reader(scores);
    auto begun = steady_clock::now();
    std::vector<Verdict> verdicts = evaluator_.Match(selectors, cluster, reader);
    return Evaluation{steady_clock::now() - begun, std::move(verdicts)};
  };
  return On<Evaluation>(thread_, std::move(work));
}

}  // namespace fleet::cel

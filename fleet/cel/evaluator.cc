// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace fleet::cel {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Result;
using Outcome = Verdict::Outcome;

// The size of one request. JSON can make six bytes of one; the sum must fit into a frame.
constexpr size_t kMaxTogetherBytes = 512 * 1024;
static_assert(6 * kMaxTogetherBytes < EvaluatorProcess::kMaxFrameBytes);
static_assert(Evaluator::kMaxSelectorBytes <= kMaxTogetherBytes);

// Questions in one evaluation; the evaluator asks less (evaluator/scores.go).
constexpr int kMaxQuestions = 200;

size_t Bytes(const Selector& selector) {
  size_t bytes = 0;
  for (const std::string& expression : selector) bytes += expression.size() + 4;
  return bytes;
}

}  // namespace

Evaluator::Evaluator(kube::Executor executor, kube::Clock& clock, EvaluatorOptions options)
    : executor_(std::move(executor)),
      clock_(clock),
      options_(std::move(options)),
      turn_(std::make_shared<kube::Slots>(executor_, clock, 1, "the evaluator")) {}

Async<kube::Slots::Lease> Evaluator::AwaitTurn() {
  return turn_->Acquire(clock_.Now() + std::chrono::hours(1));
}

Async<Compilation> Evaluator::Compile(std::string text) {
  co_await kube::IgnoreCancellation();
  Result<kube::Slots::Lease> turn = co_await AwaitTurn();
  if (!turn) co_return turn.error();
  used_ = {};
  Result<Expression> expression = co_await CompileNow(text);
  if (FailedWith(expression, Code::kCancelled)) co_return expression.error();
  co_return Compilation{used_, std::move(expression)};
}

Async<Expression> Evaluator::CompileNow(const std::string& text) {
  if (text.size() > kMaxExpressionBytes) {
    co_return Error::Invalid("an expression has at most " + std::to_string(kMaxExpressionBytes) +
                             " bytes");
  }
  Result<> started = co_await Start();
  if (!started) co_return started.error();
  Talk<Compiled> talk = [&] { return TalkCompile(text); };
  Result<Compiled> compiled = co_await Ask<Compiled>(std::move(talk), options_.patience);
  if (!compiled) co_return compiled.error();
  if (!compiled->error.empty()) co_return Error::Invalid(compiled->error);
  co_return std::move(compiled->expression);
}

Async<Evaluation> Evaluator::Match(std::span<const Selector> selectors, std::string_view cluster,
                                   ScoreReader& scores) {
  co_await kube::IgnoreCancellation();
  Result<kube::Slots::Lease> turn = co_await AwaitTurn();
  if (!turn) co_return turn.error();
  used_ = {};
  std::vector<Verdict> verdicts(selectors.size());
  std::vector<Selector> together;
  std::vector<Verdict*> theirs;
  size_t bytes = 0;
  for (size_t i = 0; i <= selectors.size(); ++i) {
    // A request is complete at the last selector, or when the next one does not fit.
    const bool end = i == selectors.size();
    if (!end) {
      if (std::optional<Verdict> refused = Refused(selectors[i], cluster)) {
        verdicts[i] = std::move(*refused);
        continue;
      }
    }
    const size_t more = end ? 0 : Bytes(selectors[i]);
    if (end || together.size() == kMaxTogether || bytes + more > kMaxTogetherBytes) {
      Result<> matched = co_await MatchTogether(together, theirs, cluster, scores);
      if (!matched) co_return matched.error();
      together.clear();
      theirs.clear();
      bytes = 0;
    }
    if (end) break;
    together.push_back(selectors[i]);
    theirs.push_back(&verdicts[i]);
    bytes += more;
  }
  co_return Evaluation{used_, std::move(verdicts)};
}

std::optional<Verdict> Evaluator::Refused(const Selector& selector, std::string_view cluster) {
  if (cluster.size() > kMaxClusterBytes) {
    return Verdict{Outcome::kError, "the ManagedCluster has more than " +
                                        std::to_string(kMaxClusterBytes) + " bytes"};
  }
  bool too_long = Bytes(selector) > kMaxSelectorBytes;
  for (const std::string& expression : selector) {
    too_long = too_long || expression.size() > kMaxExpressionBytes;
  }
  if (too_long) return Verdict{Outcome::kError, "the expressions are too long"};
  return std::nullopt;
}

Async<> Evaluator::MatchTogether(std::span<const Selector> selectors, std::span<Verdict*> verdicts,
                                 std::string_view cluster, ScoreReader& scores) {
  if (selectors.empty()) co_return Ok();
  Result<> started = co_await Start();
  if (FailedWith(started, Code::kCancelled)) co_return started.error();
  if (!started) {
    // Says nothing about the selectors.
    for (Verdict* verdict : verdicts) *verdict = {Outcome::kUnanswered, started.error().message()};
    co_return Ok();
  }
  const kube::Duration used_before = used_;
  const kube::Duration patience =
      options_.patience +
      std::chrono::milliseconds(options_.limits.cpu_milliseconds) * selectors.size();
  Talk<Evaluations> talk = [&] { return TalkEvaluate(selectors, cluster, scores); };
  Result<Evaluations> evaluated = co_await Ask<Evaluations>(std::move(talk), patience);
  if (FailedWith(evaluated, Code::kCancelled)) co_return evaluated.error();
  if (!evaluated) {
    const bool fatal = FailedWith(evaluated, Code::kDeadlineExceeded);
    auto used = std::chrono::ceil<std::chrono::microseconds>(used_ - used_before);
    for (Verdict* verdict : verdicts) {
      *verdict = {fatal ? Outcome::kFatal : Outcome::kUnanswered, evaluated.error().message()};
      if (fatal) verdict->cost = used / selectors.size();
    }
    co_return Ok();
  }
  for (size_t i = 0; i < selectors.size(); ++i) {
    Evaluated& one = (*evaluated)[i];
    if (!one.error.empty()) {
      *verdicts[i] = {Outcome::kError, std::move(one.error)};
    } else {
      *verdicts[i] = {one.match ? Outcome::kMatch : Outcome::kNoMatch, ""};
    }
    verdicts[i]->cost = one.cpu;
  }
  co_return Ok();
}

Async<> Evaluator::Start() {
  if (process_ != nullptr && process_->running()) co_return Ok();
  if (!started_ && clock_.Now() < started_at_ + options_.start_pause) co_return started_;
  Result<> started = co_await StartNow();
  if (FailedWith(started, Code::kCancelled)) co_return started;
  started_ = std::move(started);
  started_at_ = clock_.Now();
  if (!started_) LOG(ERROR) << started_.error();
  co_return started_;
}

Async<> Evaluator::StartNow() {
  if (process_ != nullptr) {
    // The kernel does not end it at once while it waits for a device.
    Result<int> ended = co_await process_->End();
    if (!ended) co_return Error::Unavailable("CEL: " + ended.error().message());
    process_.reset();
  }
  auto process = EvaluatorProcess::Start(executor_, clock_, options_.program);
  if (!process) co_return process.error().Prefix("CEL");
  process_ = std::move(*process);
  // The first answer comes once the environment of the expressions exists.
  const std::string text = "true";
  process_->Expect(options_.start_patience, options_.start_patience + options_.busy_patience);
  Result<Compiled> first = co_await TalkCompile(text);
  if (!first) {
    co_await End();
    if (FailedWith(first, Code::kCancelled)) co_return first.error();
    // Not the code: the caller's request has not failed.
    co_return Error::Unavailable("CEL: start of " + options_.program + ": " +
                                 first.error().message());
  }
  ++starts_;
  process_->TakeCpu();  // not the caller's
  co_return Ok();
}

boost::asio::awaitable<void> Evaluator::End() {
  Result<int> ended = co_await process_->End();
  if (ended) process_.reset();
  if (!ended) LOG(WARNING) << "CEL: " << ended.error();
}

template <class Answer>
Async<Answer> Evaluator::Ask(Talk<Answer> talk, kube::Duration patience) {
  for (bool again = false;; again = true) {
    process_->Expect(patience, patience + options_.busy_patience);
    Result<Answer> answer = co_await talk();
    kube::Duration used = process_->TakeCpu();
    if (!answer) used = std::max(used, process_->waited());
    used_ += std::min(used, patience);
    if (answer) co_return answer;

    const bool unavailable = FailedWith(answer, Code::kUnavailable);
    const bool ended = unavailable && !process_->running();
    co_await End();
    if (FailedWith(answer, Code::kCancelled)) co_return answer;
    LOG(WARNING) << "CEL: the evaluator is restarted: " << answer.error();
    std::string why = "CEL: " + answer.error().message();
    if (unavailable && !ended) co_return Error::Unavailable(std::move(why));
    if (!ended || again) co_return Error::DeadlineExceeded(std::move(why));
    Result<> started = co_await Start();
    if (FailedWith(started, Code::kCancelled)) co_return started.error();
    if (!started) co_return Error::DeadlineExceeded(std::move(why));
  }
}

Async<Compiled> Evaluator::TalkCompile(const std::string& text) {
  std::string request = CompileRequest(text);
  std::string_view frames[] = {request};
  Result<> sent = co_await process_->Write(frames);
  if (!sent) co_return sent.error();
  Result<std::string> frame = co_await process_->Read();
  if (!frame) co_return frame.error();
  co_return ParseCompiled(*frame);
}

Async<Evaluator::Evaluations> Evaluator::TalkEvaluate(std::span<const Selector> selectors,
                                                      std::string_view cluster,
                                                      ScoreReader& scores) {
  std::string request = EvaluateRequest(selectors, options_.limits);
  std::string_view frames[] = {request, cluster};
  Result<> sent = co_await process_->Write(frames);
  if (!sent) co_return sent.error();
  for (int questions = 0; questions <= kMaxQuestions; ++questions) {
    Result<std::string> frame = co_await process_->Read();
    if (!frame) co_return frame.error();
    Result<EvaluateReply> reply = ParseEvaluateReply(*frame);
    if (!reply) co_return reply.error();
    if (auto* evaluated = std::get_if<Evaluations>(&*reply)) {
      if (evaluated->size() == selectors.size()) co_return std::move(*evaluated);
      co_return Error::Invalid("the evaluator gave another number of verdicts");
    }
    std::string found = ScoresReply(scores.Scores(std::get<ScoresQuestion>(*reply).name));
    std::string_view answer[] = {found};
    sent = co_await process_->Write(answer);
    if (!sent) co_return sent.error();
  }
  co_return Error::Invalid("the evaluator asked too often");
}

}  // namespace fleet::cel

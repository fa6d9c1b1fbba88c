// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator.h"

#include <glog/logging.h>

#include <utility>

namespace fleet::cel {
namespace {

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

Evaluator::Evaluator(kube::Clock& clock, EvaluatorOptions options)
    : clock_(clock), options_(std::move(options)) {}

Result<Expression> Evaluator::Compile(const std::string& text) {
  if (text.size() > kMaxExpressionBytes) {
    return Error::Invalid("an expression has at most " + std::to_string(kMaxExpressionBytes) +
                          " bytes");
  }
  Result<void> started = Start();
  if (!started) return started.error();
  Result<Compiled> compiled = Ask<Compiled>(
      [&] { return TalkCompile(text, std::chrono::steady_clock::now() + options_.patience); });
  if (!compiled) return Error::DeadlineExceeded(compiled.error().message());
  if (!compiled->error.empty()) return Error::Invalid(compiled->error);
  return std::move(compiled->expression);
}

std::vector<Verdict> Evaluator::Match(std::span<const Selector> selectors, std::string_view cluster,
                                      ScoreReader& scores) {
  std::vector<Verdict> verdicts(selectors.size());
  std::vector<Selector> together;
  std::vector<Verdict*> theirs;
  size_t bytes = 0;
  auto match = [&] {
    if (!together.empty()) MatchTogether(together, theirs, cluster, scores);
    together.clear();
    theirs.clear();
    bytes = 0;
  };
  for (size_t i = 0; i < selectors.size(); ++i) {
    if (std::optional<Verdict> refused = Refused(selectors[i], cluster)) {
      verdicts[i] = std::move(*refused);
      continue;
    }
    size_t more = Bytes(selectors[i]);
    if (together.size() == kMaxTogether || bytes + more > kMaxTogetherBytes) match();
    together.push_back(selectors[i]);
    theirs.push_back(&verdicts[i]);
    bytes += more;
  }
  match();
  return verdicts;
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

void Evaluator::MatchTogether(std::span<const Selector> selectors, std::span<Verdict*> verdicts,
                              std::string_view cluster, ScoreReader& scores) {
  Result<void> started = Start();
  if (!started) {
    // Says nothing about the selectors.
    for (Verdict* verdict : verdicts) *verdict = {Outcome::kUnanswered, started.error().message()};
    return;
  }
  auto begun = std::chrono::steady_clock::now();
  auto patience = options_.patience +
                  std::chrono::milliseconds(options_.limits.cpu_milliseconds) * selectors.size();
  Result<Evaluations> evaluated = Ask<Evaluations>([&] {
    return TalkEvaluate(selectors, cluster, scores, std::chrono::steady_clock::now() + patience);
  });
  if (!evaluated) {
    auto took =
        std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun);
    for (Verdict* verdict : verdicts)
      *verdict = {Outcome::kFatal, evaluated.error().message(), took / selectors.size()};
    return;
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
}

Result<void> Evaluator::Start() {
  if (process_ != nullptr) return Ok();
  if (!started_ && clock_.Now() < started_at_ + options_.start_pause) return started_;
  started_ = StartNow();
  started_at_ = clock_.Now();
  if (!started_) LOG(ERROR) << started_.error();
  return started_;
}

Result<void> Evaluator::StartNow() {
  auto process = EvaluatorProcess::Start(options_.program);
  if (!process) return process.error().Prefix("CEL");
  process_ = std::move(*process);
  // The first answer comes once the environment of the expressions exists.
  Result<Compiled> first =
      TalkCompile("true", std::chrono::steady_clock::now() + options_.start_patience);
  if (!first) {
    process_.reset();
    return first.error().Prefix("CEL: start of " + options_.program);
  }
  ++starts_;
  return Ok();
}

template <class Answer>
Result<Answer> Evaluator::Ask(const std::function<Result<Answer>()>& talk) {
  Result<Answer> answer = talk();
  for (int again = 0; !answer; ++again) {
    LOG(WARNING) << "CEL: the evaluator is restarted: " << answer.error();
    process_.reset();
    bool ended = answer.error().code() == Code::kUnavailable;
    if (!ended || again > 0 || !Start()) return answer.error().Prefix("CEL");
    answer = talk();
  }
  return answer;
}

Result<Compiled> Evaluator::TalkCompile(const std::string& text, Deadline deadline) {
  std::string request = CompileRequest(text);
  std::string_view frames[] = {request};
  Result<void> sent = process_->Write(frames, deadline);
  if (!sent) return sent.error();
  Result<std::string> frame = process_->Read(deadline);
  if (!frame) return frame.error();
  return ParseCompiled(*frame);
}

Result<Evaluator::Evaluations> Evaluator::TalkEvaluate(std::span<const Selector> selectors,
                                                       std::string_view cluster,
                                                       ScoreReader& scores, Deadline deadline) {
  std::string request = EvaluateRequest(selectors, options_.limits);
  std::string_view frames[] = {request, cluster};
  Result<void> sent = process_->Write(frames, deadline);
  if (!sent) return sent.error();
  for (int questions = 0; questions <= kMaxQuestions; ++questions) {
    Result<std::string> frame = process_->Read(deadline);
    if (!frame) return frame.error();
    Result<EvaluateReply> reply = ParseEvaluateReply(*frame);
    if (!reply) return reply.error();
    if (auto* evaluated = std::get_if<Evaluations>(&*reply)) {
      if (evaluated->size() == selectors.size()) return std::move(*evaluated);
      return Error::Invalid("the evaluator gave another number of verdicts");
    }
    std::string found = ScoresReply(scores.Scores(std::get<ScoresQuestion>(*reply).name));
    std::string_view answer[] = {found};
    sent = process_->Write(answer, deadline);
    if (!sent) return sent.error();
  }
  return Error::Invalid("the evaluator asked too often");
}

}  // namespace fleet::cel

// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/cached_selectors.h"

#include <openssl/sha.h>

#include <algorithm>
#include <limits>
#include <set>

namespace fleet::cel {
namespace {

using kube::Async;
using kube::Code;
using kube::Duration;
using kube::Ok;
using kube::Result;

std::string DigestOf(const std::string& text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

size_t BytesOf(const Selector& selector) {
  size_t bytes = 0;
  for (const std::string& expression : selector) bytes += expression.size();
  return bytes;
}

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

}  // namespace

void CachedSelectors::Begin(const std::string& ns) {
  questions_ = {.ns = ns};
  refusal_.clear();
}

const CachedSelectors::Text* CachedSelectors::TextOf(const std::string& expression) {
  const Text* text = texts_.Find(DigestOf(expression));
  if (text != nullptr && (!text->until || clock_.Now() < *text->until)) return text;
  return nullptr;
}

std::optional<std::string> CachedSelectors::Check(const std::string& expression) {
  const Text* text = TextOf(expression);
  if (text == nullptr) {
    questions_.expressions.insert(expression);
    return std::nullopt;
  }
  if (text->problem.empty()) return std::nullopt;
  return text->problem;
}

CelSelectors::Verdict CachedSelectors::Matches(const std::vector<std::string>& expressions,
                                               const std::string& cluster) {
  std::optional<size_t> index = IndexOf(expressions);
  if (!index) return {};
  const Known& known = selectors_[*index];
  if (Refused(known)) {
    refusal_ = known.refusal;
    return {};
  }
  auto found = known_.find(cluster);
  Outcome outcome = kUnknown;
  if (found != known_.end() && *index < found->second.size()) outcome = found->second[*index];
  if (outcome == kUnknown) questions_.clusters.insert(cluster);
  if (outcome == kOtherError) return {false, "the evaluation failed"};
  if (outcome < kFirstError) return {outcome == kMatch, ""};
  return {false, known.errors[outcome - kFirstError]};
}

Questions CachedSelectors::TakeQuestions() {
  Questions questions = std::exchange(questions_, Questions());
  questions_.ns = questions.ns;
  return questions;
}

std::optional<std::string> CachedSelectors::Full(const std::string& ns,
                                                 const Selector& selector) const {
  size_t bytes = BytesOf(selector);
  auto full = [bytes](const Size& size, const Size& max) {
    return size.selectors >= max.selectors || size.bytes + bytes > max.bytes;
  };
  auto found = namespaces_.find(ns);
  const Size own = found == namespaces_.end() ? Size() : found->second.size;
  if (full(own, kMaxOfNamespace)) {
    return "the namespace has more than " + std::to_string(kMaxOfNamespace.selectors) +
           " of them, or their texts are too long";
  }
  if (full(size_, kMax)) {
    return "all namespaces of the hub have more than " + std::to_string(kMax.selectors) +
           " of them, or their texts are too long";
  }
  if (!full(own, kOfEach)) return std::nullopt;
  Size beyond;
  for (const auto& [name, other] : namespaces_) {
    beyond.selectors += other.size.selectors - std::min(other.size.selectors, kOfEach.selectors);
    beyond.bytes += other.size.bytes - std::min(other.size.bytes, kOfEach.bytes);
  }
  constexpr Size kMaxBeyond{kMax.selectors / 2, kMax.bytes / 2};
  if (!full(beyond, kMaxBeyond)) return std::nullopt;
  return "all namespaces of the hub have more than " + std::to_string(kMaxBeyond.selectors) +
         " of them beyond the first " + std::to_string(kOfEach.selectors) +
         " of each, or their texts are too long";
}

std::optional<size_t> CachedSelectors::IndexIn(const std::string& ns,
                                               const Selector& selector) const {
  auto own = namespaces_.find(ns);
  if (own == namespaces_.end()) return std::nullopt;
  auto found = own->second.index.find(selector);
  if (found == own->second.index.end()) return std::nullopt;
  return found->second;
}

std::optional<size_t> CachedSelectors::IndexOf(const Selector& selector) {
  if (std::optional<size_t> index = IndexIn(questions_.ns, selector)) return index;
  Expression reads;
  for (const std::string& expression : selector) {
    const Text* text = TextOf(expression);
    if (text == nullptr) {
      questions_.expressions.insert(expression);
      return std::nullopt;
    }
    reads.any_scores = reads.any_scores || text->expression.any_scores;
    reads.scores.insert(reads.scores.end(), text->expression.scores.begin(),
                        text->expression.scores.end());
  }
  if (std::optional<std::string> limit = Full(questions_.ns, selector)) {
    refusal_ = "celSelector: not evaluated: " + *limit;
    return std::nullopt;
  }
  Add({.of = UsedSelector{questions_.ns, selector},
       .reads = std::move(reads),
       .errors = {},
       .refusal = {},
       .refused_until = {}});
  return selectors_.size() - 1;
}

void CachedSelectors::Add(Known known) {
  Namespace& own = namespaces_[known.of.ns];
  for (Size* size : {&size_, &own.size}) {
    ++size->selectors;
    size->bytes += BytesOf(known.of.selector);
  }
  for (const std::string& error : known.errors) {
    own.error_bytes += error.size();
    error_bytes_ += error.size();
  }
  own.index[known.of.selector] = selectors_.size();
  selectors_.push_back(std::move(known));
}

Async<Duration> CachedSelectors::Answer(Questions questions) {
  co_await kube::IgnoreCancellation();
  if (Duration wait = WaitOf(questions.ns); wait > Duration::zero()) co_return wait;
  // Nothing else charges the namespace meanwhile: a budget that is left before the wait for the
  // evaluator's turn is left after it.
  const kube::TimePoint start = clock_.Now();
  std::optional<Answering::Turn> turn = answering_.Begin(questions.ns, start);
  if (!turn) co_return Answering::kRetry;
  for (const std::string& text : questions.expressions) {
    if (Duration wait = PauseOf(questions.ns, start); wait > Duration::zero()) co_return wait;
    Result<> compiled = co_await Compile(questions.ns, text);
    if (!compiled) co_return compiled.error();
  }
  for (const std::string& cluster : questions.clusters) {
    Result<Duration> wait = co_await Evaluate(questions.ns, cluster, start);
    if (!wait || *wait > Duration::zero()) co_return wait;
  }
  co_return Duration::zero();
}

Duration CachedSelectors::PauseOf(const std::string& ns, kube::TimePoint start) const {
  if (Duration wait = WaitOf(ns); wait > Duration::zero()) return wait;
  return answering_.Over(start, clock_.Now()) ? Answering::kRetry : Duration::zero();
}

Async<> CachedSelectors::Compile(const std::string& ns, const std::string& text) {
  // Another pass may have asked meanwhile.
  if (TextOf(text) != nullptr) co_return Ok();
  std::string copy = text;
  std::string key = DigestOf(text);
  Result<Compilation> compilation = co_await evaluator_.Compile(std::move(copy));
  if (!compilation) co_return compilation.error();
  Result<Expression>& expression = compilation->expression;
  bool fatal = FailedWith(expression, Code::kDeadlineExceeded);
  budget_.Charge(ns, compilation->used * (fatal ? kFatalFactor : 1), clock_.Now());
  if (expression) {
    texts_.Put(key, {.problem = "", .expression = std::move(*expression), .until = {}});
  } else if (fatal) {
    texts_.Put(key, {.problem = "not compiled: " + expression.error().message(),
                     .expression = {},
                     .until = clock_.Now() + kRefusal});
  } else if (expression.error().code() == Code::kInvalid) {
    texts_.Put(key, {.problem = expression.error().message(), .expression = {}, .until = {}});
  } else {
    co_return expression.error();
  }
  co_return Ok();
}

Async<Duration> CachedSelectors::Evaluate(const std::string& ns, const std::string& cluster,
                                          kube::TimePoint start) {
  std::vector<Batch> batches = BatchesFor(ns, cluster);
  for (Batch& batch : batches) {
    if (Duration wait = PauseOf(ns, start); wait > Duration::zero()) co_return wait;
    Result<> evaluated = co_await EvaluateTogether(ns, cluster, std::move(batch));
    if (!evaluated) co_return evaluated.error();
  }
  co_return Duration::zero();
}

std::vector<CachedSelectors::Batch> CachedSelectors::BatchesFor(const std::string& ns,
                                                                const std::string& cluster) const {
  std::vector<Batch> batches;
  Batch together;
  auto own = namespaces_.find(ns);
  if (own == namespaces_.end()) return batches;
  auto found = known_.find(cluster);
  for (const auto& [selector, i] : own->second.index) {
    const Known& known = selectors_[i];
    bool unknown =
        found == known_.end() || i >= found->second.size() || found->second[i] == kUnknown;
    if (!unknown || Refused(known)) continue;
    if (!known.proven) {
      batches.push_back({selector});
      continue;
    }
    together.push_back(selector);
    if (together.size() == Evaluator::kMaxTogether)
      batches.push_back(std::exchange(together, Batch()));
  }
  if (!together.empty()) batches.push_back(std::move(together));
  return batches;
}

Async<> CachedSelectors::EvaluateTogether(const std::string& ns, const std::string& cluster,
                                          Batch batch) {
  if (std::string refusal = clusters_.Refusal(cluster); !refusal.empty()) {
    std::vector<Outcome>& outcomes = known_[cluster];
    outcomes.resize(selectors_.size(), kUnknown);
    for (const Selector& selector : batch) {
      std::optional<size_t> index = IndexIn(ns, selector);
      if (index) outcomes[*index] = ErrorOf(selectors_[*index], refusal);
    }
    co_return Ok();
  }
  std::optional<std::string> text = clusters_.Json(cluster);
  if (!text) {
    known_.erase(cluster);
    co_return Ok();
  }
  ScoreTable table = clusters_.Scores(cluster);
  TableReader scores(table);
  InFlight call{cluster};
  auto place = in_flight_.insert(in_flight_.end(), &call);
  Result<Evaluation> evaluation = co_await evaluator_.Match(batch, *text, scores);
  in_flight_.erase(place);
  if (!evaluation) co_return evaluation.error();

  // The namespace pays also for what no selector is charged for: reading the cluster.
  Duration rest = evaluation->used;
  std::optional<std::string> unanswered;
  for (size_t i = 0; i < batch.size(); ++i) {
    cel::Verdict& verdict = evaluation->verdicts[i];
    rest -= std::min<Duration>(rest, verdict.cost);
    if (verdict.outcome == cel::Verdict::Outcome::kUnanswered) unanswered = verdict.why;
    std::optional<size_t> index = IndexIn(ns, batch[i]);
    if (!index) continue;
    std::vector<Outcome>& outcomes = known_[cluster];
    outcomes.resize(selectors_.size(), kUnknown);
    Outcome ignored = kUnknown;
    Duration charge = Keep(selectors_[*index], call.stale ? ignored : outcomes[*index],
                           std::move(verdict), /*alone=*/batch.size() == 1);
    budget_.Charge(ns, charge, clock_.Now());
  }
  budget_.Charge(ns, rest, clock_.Now());
  if (unanswered) co_return kube::Error::Unavailable(std::move(*unanswered));
  co_return Ok();
}

Duration CachedSelectors::Keep(Known& known, Outcome& outcome, cel::Verdict verdict, bool alone) {
  using Said = cel::Verdict::Outcome;
  if (verdict.outcome == Said::kUnanswered) return Duration::zero();
  known.proven = verdict.outcome != Said::kFatal;
  if (verdict.outcome == Said::kFatal) {
    // Which one of several it was is found out when each is evaluated alone.
    if (!alone) return verdict.cost * kFatalFactor;
    known.refusal = "celSelector: not evaluated: " + verdict.why;
    known.refused_until = clock_.Now() + kRefusal;
    return verdict.cost * kFatalFactor;
  }
  if (verdict.outcome == Said::kError) {
    outcome = ErrorOf(known, std::move(verdict.why));
  } else {
    outcome = verdict.outcome == Said::kMatch ? kMatch : kNoMatch;
  }
  return verdict.cost;
}

CachedSelectors::Outcome CachedSelectors::ErrorOf(Known& known, std::string why) {
  constexpr size_t kMax = std::numeric_limits<Outcome>::max() - kFirstError;
  std::vector<std::string>& errors = known.errors;
  auto found = std::find(errors.begin(), errors.end(), why);
  if (found == errors.end()) {
    // Errors that name a value of the cluster are as many as clusters.
    size_t& own = namespaces_[known.of.ns].error_bytes;
    if (errors.size() > kMax || own + why.size() > kMaxErrorsOfNamespace ||
        error_bytes_ + why.size() > kMaxErrors)
      return kOtherError;
    own += why.size();
    error_bytes_ += why.size();
    errors.push_back(std::move(why));
    found = errors.end() - 1;
  }
  return static_cast<Outcome>(kFirstError + (found - errors.begin()));
}

void CachedSelectors::ClusterChanged(const std::string& cluster) {
  known_.erase(cluster);
  for (InFlight* call : in_flight_) call->stale = call->stale || call->cluster == cluster;
}

void CachedSelectors::ScoresChanged(const std::string& cluster, const std::string& name) {
  for (InFlight* call : in_flight_) call->stale = call->stale || call->cluster == cluster;
  auto found = known_.find(cluster);
  if (found == known_.end()) return;
  std::vector<Outcome>& outcomes = found->second;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Expression& reads = selectors_[i].reads;
    bool reads_it = std::find(reads.scores.begin(), reads.scores.end(), name) != reads.scores.end();
    if (reads.any_scores || reads_it) outcomes[i] = kUnknown;
  }
}

void CachedSelectors::Retain(std::span<const UsedSelector> used) {
  const std::set<UsedSelector> wanted(used.begin(), used.end());
  std::vector<size_t> kept;
  for (size_t i = 0; i < selectors_.size(); ++i) {
    if (wanted.contains(selectors_[i].of)) kept.push_back(i);
  }
  if (kept.size() == selectors_.size()) return;
  for (auto& [cluster, outcomes] : known_) {
    outcomes.resize(selectors_.size(), kUnknown);
    for (size_t i = 0; i < kept.size(); ++i) outcomes[i] = outcomes[kept[i]];
    outcomes.resize(kept.size());
  }
  std::vector<Known> before = std::exchange(selectors_, {});
  size_ = {};
  error_bytes_ = 0;
  namespaces_.clear();
  for (size_t i : kept) Add(std::move(before[i]));
}

}  // namespace fleet::cel

// SPDX-License-Identifier: Apache-2.0
#include "rules/asker.h"

#include <algorithm>
#include <vector>

#include "api/rule_question.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/controller/term_client.h"

namespace rules {
namespace {

using kube::Async;
using kube::Code;
using kube::Result;
using kube::TimePoint;
using placement::MatchingConfig;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds kTimeout = 5s;
// The delays between questions about a config without an answer: the first one doubles up to the
// second.
constexpr kube::Duration kFirstDelay = 100ms;
constexpr kube::Duration kMaxDelay = 1s;
// How long pods wait for the first answer about a generation of a config, and for how many
// generations of which none was answered.
constexpr kube::Duration kPatience = 10s;
constexpr int kMaxGenerations = 3;
// How long a pod waits for all its configs together.
constexpr kube::Duration kPodPatience = kMaxGenerations * kPatience;
// A config is forgotten if no pod has asked about it for this time, a pod if it has not asked.
// Unused ones are looked for when there are at least so many.
constexpr kube::Duration kForgottenAfter = 60s;
constexpr size_t kMinForget = 256;

// The response is not needed, only its warnings.
constexpr char kAccept[] =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

kube::ApiRequest Question(const kube::core::Pod& pod, const api::PodPlacementConfig& config) {
  kube::ApiRequest request = kube::UpdateRequest(pod);
  kube::AddQuery(request.target, "dryRun", "All");
  kube::AddQuery(request.target, "fieldManager", api::QuestionOf(config));
  request.accept = kAccept;
  request.timeout = kTimeout;
  return request;
}

// False if the warnings have no answer.
bool ReadAnswer(const std::vector<std::string>& warnings, MatchingConfig& matching) {
  auto says = [&](std::string_view text) {
    std::string end = ": " + std::string(text);
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const std::string& warning) { return warning.ends_with(end); });
  };
  if (!says(api::kRulesEvaluated)) return false;
  size_t rules = std::min(matching.config->Rules().size(), matching.rules.size());
  for (size_t i = 0; i < rules; ++i) {
    if (says(api::RuleMatches(i))) matching.rules.set(i);
  }
  return true;
}

// Erases the unused entries of a map when there are many. `forget_at`: the size then.
template <class Map>
void ForgetUnused(Map& map, size_t& forget_at, TimePoint now) {
  if (map.size() < std::max(forget_at, kMinForget)) return;
  std::erase_if(map,
                [&](const auto& entry) { return now - entry.second.last_used >= kForgottenAfter; });
  forget_at = 2 * map.size();
}

// The pod or the caller cannot be written at all: not about rules.
bool FailsEveryWrite(const kube::Error& error) {
  if (kube::IsLeaseNotHeld(error)) return true;
  switch (error.code()) {
    case Code::kConflict:
    case Code::kNotFound:
    case Code::kCancelled:
    case Code::kUnauthenticated:
      return true;
    case Code::kPermissionDenied:
      return kube::LacksPermission(error);
    default:
      return false;
  }
}

}  // namespace

bool Asker::Unanswered::GivenUp(TimePoint now) const { return now - since >= kPatience; }

Async<milliseconds> Asker::Ask(const kube::core::Pod& pod, placement::MatchingConfigs& configs) {
  std::vector<MatchingConfig*> open;
  for (MatchingConfig& matching : configs) {
    if (matching.open) open.push_back(&matching);
  }
  // The pod may have to wait for those without an answer. They come first, so that it does not ask
  // about the others in vain.
  std::stable_partition(open.begin(), open.end(), [&](const MatchingConfig* matching) {
    return unanswered_.contains(matching->config->metadata().uid());
  });
  bool patient = IsPatient(pod);
  for (MatchingConfig* matching : open) {
    Result<milliseconds> wait = co_await AskAbout(pod, *matching, patient);
    if (!wait) co_return wait;
    if (*wait > 0ms) {
      NoteWait(pod);
      co_return wait;
    }
  }
  waiting_.erase(pod.metadata().uid());
  co_return 0ms;
}

bool Asker::IsPatient(const kube::core::Pod& pod) {
  auto found = waiting_.find(pod.metadata().uid());
  if (found == waiting_.end()) return true;
  TimePoint now = clock_.Now();
  if (now - found->second.last_used < kForgottenAfter)
    return now - found->second.since < kPodPatience;
  waiting_.erase(found);
  return true;
}

void Asker::NoteWait(const kube::core::Pod& pod) {
  TimePoint now = clock_.Now();
  ForgetUnused(waiting_, forget_waiting_at_, now);
  auto [waiting, first] = waiting_.try_emplace(pod.metadata().uid());
  if (first) waiting->second.since = now;
  waiting->second.last_used = now;
}

Async<milliseconds> Asker::AskAbout(const kube::core::Pod& pod, MatchingConfig& matching,
                                    bool patient) {
  const kube::meta::ObjectMeta& config = matching.config->metadata();
  TimePoint asked = clock_.Now();
  Unanswered* known = patient ? Find(config) : nullptr;
  if (known != nullptr && !known->GivenUp(asked)) {
    if (asked < known->next) co_return std::chrono::ceil<milliseconds>(known->next - asked);
    // This pod asks for all that wait.
    known->next = asked + known->delay;
    known->delay = std::min(2 * known->delay, kMaxDelay);
  }

  kube::ApiRequest question = Question(pod, *matching.config);
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(question));
  if (!response && FailsEveryWrite(response.error())) co_return response.error();
  if (response && ReadAnswer(response->warnings, matching)) {
    unanswered_.erase(config.uid());
    matching.open = false;
    co_return 0ms;
  }
  if (!response && kube::IsRefusal(response.error())) {
    matching.open = false;
    matching.rules_error = "the API server refused the question: " + response.error().message();
    co_return 0ms;
  }

  Unanswered& unanswered = Note(config, asked);
  TimePoint now = clock_.Now();
  if (patient && !unanswered.GivenUp(now))
    co_return std::max(1ms, std::chrono::ceil<milliseconds>(unanswered.next - now));
  matching.open = false;
  matching.rules_error = response ? "the API server does not evaluate them yet"
                                  : "no answer of the API server: " + response.error().message();
  co_return 0ms;
}

Asker::Unanswered* Asker::Find(const kube::meta::ObjectMeta& config) {
  auto found = unanswered_.find(config.uid());
  if (found == unanswered_.end()) return nullptr;
  Unanswered& known = found->second;
  TimePoint now = clock_.Now();
  if (now - known.last_used >= kForgottenAfter) {
    unanswered_.erase(found);
    return nullptr;
  }
  known.last_used = now;
  return config.generation() > known.generation ? nullptr : &known;
}

Asker::Unanswered& Asker::Note(const kube::meta::ObjectMeta& config, TimePoint asked) {
  if (!unanswered_.contains(config.uid()))
    ForgetUnused(unanswered_, forget_unanswered_at_, clock_.Now());
  Unanswered& known = unanswered_[config.uid()];
  known.last_used = clock_.Now();
  if (config.generation() <= known.generation) return known;
  known.generation = config.generation();
  if (++known.generations <= kMaxGenerations) {
    known.since = asked;
    known.next = known.last_used + kFirstDelay;
    known.delay = 2 * kFirstDelay;
  }
  return known;
}

}  // namespace rules

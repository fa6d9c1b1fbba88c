// SPDX-License-Identifier: Apache-2.0
// Asker: asks the API server which rules match a pod, where the pod's record does not say
// (api/rule_question.h), with one request for each config.
//
//   placement::MatchingConfigs configs = placement::ConfigsFor(pod, all);
//   if (placement::HasOpenRules(configs)) {
//     Result<std::chrono::milliseconds> wait = co_await asker.Ask(pod, configs);
//     if (!wait) ...                                       // kConflict: read the pod again
//     if (*wait > 0ms) co_return Outcome::After(*wait);    // no worker waits
//   }
//
// A config that was just written has no answer for up to some seconds. Its pods wait together: one
// of them asks at a time, less and less often. After 10 s, they are released without these rules,
// and each asks once, until the config is answered. A pod waits for at most 30 s, whatever number
// of configs are created and deleted meanwhile (I3). Thread: the client's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"
#include "placement/matching_configs.h"

namespace rules {

class Asker {
 public:
  // `client` and `clock` outlive this.
  Asker(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // Completes each open config of `configs`: with the rules that match `pod`, a stored pod without
  // changes, or with the reason why they will not be known.
  // Returns: 0 if none is open any more; otherwise when to decide the pod again.
  // Errors: kConflict and kNotFound if the pod was changed or deleted; kPermissionDenied and
  // kUnauthenticated for the caller; kCancelled.
  kube::Async<std::chrono::milliseconds> Ask(const kube::core::Pod& pod,
                                             placement::MatchingConfigs& configs);

  // The number of configs without an answer.
  size_t unanswered() const { return unanswered_.size(); }

 private:
  // A config from its first question without an answer to its first answer.
  struct Unanswered {
    int64_t generation = 0;
    // Generations that were waited for. A config that is written in a loop must not keep its pods
    // gated.
    int generations = 0;
    kube::TimePoint since;      // the first question of the generation
    kube::TimePoint next;       // of the next question
    kube::Duration delay{};     // from that question to the one after it
    kube::TimePoint last_used;  // it is forgotten if no pod needs it

    bool GivenUp(kube::TimePoint now) const;
  };
  // A pod from its first wait to its release.
  struct Waiting {
    kube::TimePoint since;
    kube::TimePoint last_used;
  };

  // Whether the pod may wait still.
  bool IsPatient(const kube::core::Pod& pod);
  void NoteWait(const kube::core::Pod& pod);
  // `patient`: of the pod.
  kube::Async<std::chrono::milliseconds> AskAbout(const kube::core::Pod& pod,
                                                  placement::MatchingConfig& matching,
                                                  bool patient);
  // nullptr if the next question about the config is the first one of its generation.
  Unanswered* Find(const kube::meta::ObjectMeta& config);
  // Notes that a question, asked at `asked`, had no answer.
  Unanswered& Note(const kube::meta::ObjectMeta& config, kube::TimePoint asked);

  kube::Client& client_;
  kube::Clock& clock_;
  std::unordered_map<std::string, Unanswered> unanswered_;  // by the config's uid
  std::unordered_map<std::string, Waiting> waiting_;        // by the pod's uid
  // The sizes at which unused entries are looked for.
  size_t forget_unanswered_at_ = 0;
  size_t forget_waiting_at_ = 0;
};

}  // namespace rules

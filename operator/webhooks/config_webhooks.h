// SPDX-License-Identifier: Apache-2.0
// ConfigWebhooks: validates creation, update and deletion of the operator's two kinds, and converts
// the ClusterPodPlacementConfig between its versions. api/validation.h says what is refused; the
// API server checks expressions (rules/rule_check.h). The objects that are needed are read live,
// two requests for each new PodPlacementConfig: such writes are rare, and with a cache two creates
// in a row could both pass, or one after the deletion of the ClusterPodPlacementConfig. An update
// of one that is being deleted, or whose spec stays, needs none: finalizers can always be removed.
// A PodPlacementConfig that may be stored is announced first (announcements/announcer.h). The first
// of a namespace with a preference waits until the pods that it may concern are gated
// (preference_gate.h). A failure of both refuses no write. Thread: the client's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "operator/announcements/announcer.h"
#include "operator/webhooks/preference_gate.h"
#include "watches/config_lists.h"

namespace operator_ {

// Adding a rule (api/cel_rule.h) requires the verb `use` for this resource of api::kGroup, which
// has no objects. The ClusterRole has that permission; users have it only through a binding.
inline constexpr std::string_view kCelRulesResource = "celrules";
inline constexpr std::string_view kCelRulesClusterRole = "podplacementconfigs-celrules";

class ConfigWebhooks {
 public:
  // All outlive this.
  ConfigWebhooks(kube::Client& client, kube::Clock& clock, Announcer& announcer)
      : client_(client),
        clock_(clock),
        announcer_(announcer),
        gate_(client, clock),
        lists_(client, clock) {}

  // Adds the routes of all three webhooks; `server` must stop before this is destroyed.
  void AddTo(kube::HttpsServer& server);

  // Errors: the API server's; the request then fails instead of passing unchecked.
  kube::Async<kube::AdmissionResponse> ValidateConfig(kube::AdmissionRequest request);
  kube::Async<kube::AdmissionResponse> ValidateClusterConfig(kube::AdmissionRequest request);

 private:
  // `config`: read from `object`.
  kube::Async<kube::AdmissionResponse> ValidateUpdate(const kube::AdmissionRequest& request,
                                                      const kube::Json& old_object,
                                                      const kube::Json& object,
                                                      const api::PodPlacementConfig& config,
                                                      kube::TimePoint received);
  // Whether the user may add the rules that `config` has and `old_rules` does not, and whether the
  // API server accepts their expressions. Makes no call if there are none.
  kube::Async<kube::AdmissionResponse> DecideRules(
      const kube::AdmissionRequest& request, const api::PodPlacementConfig& config,
      const std::vector<api::CelRule>& old_rules,
      const std::vector<api::PodPlacementConfig>& existing);
  // Allows the write of `config`, also if the announcement fails. `changes`: the write will change
  // the stored spec, so it is announced; not so a dry run. `first`: no stored config of the
  // namespace has a preference, and this one may. `received`: when the request arrived.
  kube::Async<kube::AdmissionResponse> Allow(bool changes, bool first,
                                             const api::PodPlacementConfig& config,
                                             kube::TimePoint received);

  kube::Client& client_;
  kube::Clock& clock_;
  Announcer& announcer_;
  PreferenceGate gate_;
  watches::ConfigLists lists_;
};

}  // namespace operator_

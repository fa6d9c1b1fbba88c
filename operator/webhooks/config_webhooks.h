// SPDX-License-Identifier: Apache-2.0
// ConfigWebhooks: what the API server asks the operator about its own two kinds - may this one be
// created, changed, deleted - and the conversion between the versions of the
// ClusterPodPlacementConfig. The rules are in api/validation.h; what they need to know is read
// live: these questions are rare, and a cache would let two creates in a row pass. A
// PodPlacementConfig that may be written is announced to those who apply it first; no write is
// refused because that failed. Thread: the client's.
#pragma once

#include <string>

#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "operator/announcements/announcer.h"

namespace operator_ {

class ConfigWebhooks {
 public:
  // All outlive it.
  ConfigWebhooks(kube::Client& client, kube::Clock& clock, Announcer& announcer)
      : client_(client), clock_(clock), announcer_(announcer) {}

  // The routes of all three; `server` must stop before this goes.
  void AddTo(kube::HttpsServer& server);

  // Errors: the API server's, so that the request fails rather than passes unseen.
  kube::Async<kube::AdmissionResponse> ValidateConfig(kube::AdmissionRequest request);
  kube::Async<kube::AdmissionResponse> ValidateClusterConfig(kube::AdmissionRequest request);

 private:
  // Announces the write of `config`, unless it changes nothing, and allows it whatever becomes of
  // the announcement. `asked`: when the API server did.
  kube::Async<kube::AdmissionResponse> Allow(bool nothing_changes,
                                             const api::PodPlacementConfig& config,
                                             kube::TimePoint asked);

  kube::Client& client_;
  kube::Clock& clock_;
  Announcer& announcer_;
};

}  // namespace operator_

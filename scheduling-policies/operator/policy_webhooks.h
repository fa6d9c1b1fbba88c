// SPDX-License-Identifier: Apache-2.0
// PolicyWebhooks: validates creation and update of scheduling policies. What is refused is decided
// by policy/, mostly as by the CRDs; this adds what a schema cannot say, and warnings. Objects of
// the cluster that warnings depend on are read live, within a few seconds; if that fails, a warning
// is missing and no policy is refused. The number of policies of a namespace is limited; without it
// the answer is an error. Thread: the client's.
#pragma once

#include <string>

#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/https_server.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {

class PolicyWebhooks {
 public:
  // All outlive this.
  PolicyWebhooks(kube::Client& client, kube::Clock& clock, std::string operator_namespace)
      : client_(client), clock_(clock), operator_namespace_(std::move(operator_namespace)) {}

  // Adds the routes of both kinds; `server` must stop before this is destroyed.
  void AddTo(kube::HttpsServer& server);

  // An update is checked only if it changes the spec of a policy that is not being deleted.
  kube::Async<kube::AdmissionResponse> Validate(policy::Scope scope,
                                                kube::AdmissionRequest request);

 private:
  // The warnings about the new or changed spec of a valid policy.
  kube::Async<kube::AdmissionResponse> Allow(const policy::SchedulingPolicy& policy);
  // Why no policy has an effect; "" if policies are applied, or if that is unknown.
  kube::Async<std::string> WhyWithoutEffect();

  kube::Client& client_;
  kube::Clock& clock_;
  std::string operator_namespace_;
};

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// Admission: what one API server does with a write before it is stored: it applies the operator's
// admission policies, calls mutating webhooks, then validating ones, as the stored configurations
// say.
//
//   Admission admission(loop, api_server, store, services, random.Fork());
//   store.Observe([&](const kube::StoreCommit& commit) { admission.OnCommit(commit); });
//   store.Admit([&](kube::AdmissionAttributes asked) { return admission.Admit(std::move(asked));
//   });
//
// A change of a configuration or a policy is known up to a second late (known_objects.h). Not
// implemented: reinvocation of policies, calls to URLs, conversion to a version that a rule names,
// two calls at once. Thread: the Loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/testing/fake_admission.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/resource.h"
#include "sim/base/loop.h"
#include "sim/base/random.h"
#include "sim/cluster/api_server.h"
#include "sim/cluster/known_objects.h"
#include "sim/cluster/services.h"

namespace sim {

class Admission {
 public:
  // All outlive it.
  Admission(Loop& loop, ApiServer& server, kube::FakeStore& store, Services& services,
            Random random);

  void OnCommit(const kube::StoreCommit& commit) { known_.OnCommit(commit); }
  // Errors: of a webhook that refuses; kUnavailable for one that fails, if its failurePolicy is
  // Fail.
  kube::Async<kube::Admitted> Admit(kube::AdmissionAttributes asked);

  // From now on, policies become known up to `longest` late; at least KnownObjects::kLatest.
  void DelayPolicies(kube::Duration longest);
  // From now on, pods are stored up to `longest` after their admission (docs/protocol.md, K6).
  void DelayPods(kube::Duration longest) { pod_delay_ = longest; }

 private:
  // A write on its way.
  struct Write {
    kube::AdmissionAttributes asked;
    // As it is now; a null value for a DELETE.
    std::shared_ptr<const kube::Json> object;
    // The Namespace of the request; a null value if it has none.
    std::shared_ptr<const kube::Json> ns;
    bool changed = false;
    std::vector<std::string> warnings = {};
  };

  // Calls the webhooks of all configurations of this kind that match.
  kube::Async<> CallAll(Write& write, const kube::Resource& configurations);
  // `entry`: one of `webhooks`, which outlives the call.
  kube::Async<> CallOne(Write& write, const kube::Json& entry);
  // Errors: those of a refusal. `review`: the answer.
  kube::Result<> Take(Write& write, const kube::Json& entry, const kube::Json& review) const;
  // The Namespace `name`, as this API server knows it; a null value if there is none.
  std::shared_ptr<const kube::Json> NamespaceOf(const std::string& name);
  // Time passes before a new pod is stored. Errors: its namespace is deleted meanwhile.
  kube::Async<> AwaitStore(std::string ns);

  Loop& loop_;
  ApiServer& server_;
  Services& services_;
  KnownObjects known_;
  Random random_;
  kube::TrustedCalls reader_;
  uint64_t last_review_ = 0;
  kube::Duration pod_delay_{};
};

}  // namespace sim

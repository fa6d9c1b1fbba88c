// SPDX-License-Identifier: Apache-2.0
// Whether an API server calls a webhook for a write: rules, selectors and conditions of an entry of
// a webhook configuration.
#pragma once

#include <string>

#include "kube/testing/fake_admission.h"
#include "kube/types/unstructured.h"

namespace sim {

// What a request is about, by the collection "/apis/apps/v1/deployments".
struct RequestedResource {
  std::string group, version, plural;
};
RequestedResource ResourceIn(const std::string& collection);

// `rules`: of a webhook, or the resourceRules of a policy.
bool MatchesRules(const kube::Json& rules, const kube::AdmissionAttributes& asked);

// The namespaceSelector and the objectSelector of `entry`: a webhook, or the resources that a
// policy or its binding matches. `object`: as earlier webhooks have changed it, null for a DELETE;
// `ns`: the Namespace of the request, null if it has none.
bool MatchesSelectors(const kube::Json& entry, const kube::AdmissionAttributes& asked,
                      const kube::Json& object, const kube::Json& ns);

// The matchConditions of `entry`.
bool MeetsConditions(const kube::Json& entry, const kube::AdmissionAttributes& asked,
                     const kube::Json& object);

}  // namespace sim

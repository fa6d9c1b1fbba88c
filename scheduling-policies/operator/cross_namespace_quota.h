// SPDX-License-Identifier: Apache-2.0
// CrossNamespaceQuota: which pods of a scheduling policy the API server will refuse because of its
// pod affinity terms. Pods whose terms look at other namespaces count for the ResourceQuotas of
// scope CrossNamespacePodAffinity (KEP-2249). A template with such terms passes; its pods get 403.
#pragma once

#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {

// "pods: 1 of 1 used" if `quota` has the scope and a limit that is used up; "" if it has room, or
// another scope.
std::string UsedUpForCrossNamespaceAffinity(const kube::Json& quota);

// A warning for each namespace, at most three, that `policy` selects and whose quota has no room.
// Without a term that looks at other namespaces, nothing is read. Quotas, and for a cluster policy
// the namespaces that have one without room, are read live until `deadline`, and up to 2 s longer
// for a call that began before. A failed or incomplete read is a warning that says so. That the API
// server's configuration limits the scope to namespaces with a quota cannot be read.
kube::Async<std::vector<std::string>> QuotaWarnings(kube::Client& client, kube::Clock& clock,
                                                    const policy::SchedulingPolicy& policy,
                                                    const std::string& operator_namespace,
                                                    kube::TimePoint deadline);

}  // namespace operator_

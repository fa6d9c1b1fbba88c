// SPDX-License-Identifier: Apache-2.0
#include "operator/gating/gating_probe.h"

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/dry_run_probe.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/metadata.h"

namespace operator_ {

using kube::Async;
using kube::Result;

Async<GatingPoliciesServed> LookForGatingPolicies(kube::Client& client) {
  kube::ListOptions ours{.label_selector = std::string(kManagedBySelector), .limit = 1};
  kube::ListPages pages(client, kube::kMutatingAdmissionPolicies, std::move(ours),
                        /*protobuf=*/false);
  Result<kube::RawList> found = co_await pages.Next();
  if (IsNotFound(found)) co_return GatingPoliciesServed::kNo;
  if (!found) co_return found.error().Prefix("list MutatingAdmissionPolicies");
  co_return found->items.empty() ? GatingPoliciesServed::kYes : GatingPoliciesServed::kInUse;
}

Async<bool> AppliesGatingProbe(kube::Client& client, std::string nonce,
                               const OperandOptions& options) {
  DryRunProbe probe{.name = "pod-placement-gating-probe",
                    .label = kGatingProbeLabel,
                    .label_value = nonce,
                    .annotation = kGatingProbeAnnotation};
  Result<std::string> answer = co_await AnnotationOf(client, std::move(probe), options);
  if (!answer) co_return answer.error().Prefix("probe of the policies that gate pods");
  co_return *answer == nonce;
}

}  // namespace operator_

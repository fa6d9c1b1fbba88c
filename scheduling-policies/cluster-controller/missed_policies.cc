// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/cluster-controller/missed_policies.h"

#include <algorithm>
#include <utility>

#include "kube/base/join.h"
#include "scheduling-policies/backfill.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/target.h"

namespace policy {
namespace {

using kube::core::Pod;

// The names of some policies: a message of an event is short.
std::string Describe(const std::vector<const SchedulingPolicy*>& policies) {
  constexpr size_t kShown = 3;
  std::vector<std::string> names;
  for (const SchedulingPolicy* policy : policies) names.push_back(policy->Describe());
  return kube::Join(names, kShown);
}

}  // namespace

MissedPolicies::MissedPolicies(kube::Client& client, kube::Clock& clock,
                               std::string operator_namespace)
    : clock_(clock), operator_namespace_(std::move(operator_namespace)), watch_(client, clock) {}

void MissedPolicies::Follow(const api::ClusterPodPlacementConfig* config) {
  enabled_ = config != nullptr && config->EnabledSchedulingPolicies() != nullptr &&
             !config->metadata().has_deletion_timestamp();
  if (!enabled_ || listing_since_) return;
  listing_since_ = clock_.Now();
  watch_.List();
}

kube::Duration MissedPolicies::WaitLeft() const {
  if (!enabled_ || watch_.synced()) return kube::Duration::zero();
  return std::max(kube::Duration::zero(), *listing_since_ + kListWithin - clock_.Now());
}

bool MissedPolicies::AddTo(Pod& pod, std::vector<placement::PodEvent>& events) const {
  if (!Any()) return false;
  const std::string& ns = pod.metadata().namespace_();
  const placement::Labels* namespace_labels = watch_.index().LabelsOf(ns);
  if (namespace_labels == nullptr ||
      IsExcludedNamespace(ns, *namespace_labels, operator_namespace_)) {
    return false;
  }
  kube::Result<Index::Selected> selected = watch_.index().For(ns, pod.metadata().labels());
  if (!selected) return false;
  Backfilled backfilled = Backfill(pod, selected->policies);
  if (!backfilled.added.empty()) {
    events.push_back({kReasonPoliciesAdded,
                      "The pod was created without its scheduling policies: added " +
                          kube::Join(backfilled.added) + " of " + Describe(selected->policies)});
  }
  if (!backfilled.missed.empty()) {
    events.push_back({kReasonPoliciesMissed,
                      "The pod was created without its scheduling policies, and cannot be "
                      "changed any more in " +
                          kube::Join(backfilled.missed) + " of " + Describe(selected->policies),
                      true});
  }
  return !backfilled.added.empty();
}

}  // namespace policy

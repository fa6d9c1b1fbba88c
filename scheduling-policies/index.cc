// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/index.h"

#include <algorithm>
#include <utility>

namespace policy {
namespace {

bool Matches(const std::optional<kube::meta::LabelSelector>& selector,
             const placement::Labels& labels) {
  if (!selector) return false;
  kube::Result<bool> matches = placement::Matches(*selector, labels);
  return matches && *matches;
}

}  // namespace

bool CanSelect(const SchedulingPolicy& policy) {
  return policy.problems.empty() && policy.pod_selector && !policy.criteria.empty() &&
         (!policy.of_cluster() || policy.namespace_selector);
}

void Index::Put(SchedulingPolicy policy) {
  Remove(policy.scope, policy.ns, policy.name);
  if (!CanSelect(policy)) return;
  bool of_cluster = policy.of_cluster();
  Policies& policies = of_cluster ? cluster_policies_ : policies_[policy.ns];
  std::string name = policy.name;
  auto& stored = policies[name] = std::make_unique<const SchedulingPolicy>(std::move(policy));
  if (!of_cluster) return;
  for (auto& [ns, entry] : namespaces_) Select(entry, stored.get());
}

void Index::Remove(Scope scope, const std::string& ns, const std::string& name) {
  if (scope == Scope::kCluster) {
    auto found = cluster_policies_.find(name);
    if (found == cluster_policies_.end()) return;
    for (auto& [other, entry] : namespaces_)
      std::erase(entry.cluster_policies, found->second.get());
    cluster_policies_.erase(found);
    return;
  }
  auto policies = policies_.find(ns);
  if (policies == policies_.end()) return;
  policies->second.erase(name);
  if (policies->second.empty()) policies_.erase(policies);
}

void Index::PutNamespace(const std::string& ns, placement::Labels labels) {
  Namespace& entry = namespaces_[ns];
  entry.labels = std::move(labels);
  entry.cluster_policies.clear();
  for (const auto& [name, policy] : cluster_policies_) Select(entry, policy.get());
}

void Index::RemoveNamespace(const std::string& ns) { namespaces_.erase(ns); }

void Index::Select(Namespace& ns, const SchedulingPolicy* policy) {
  if (!Matches(policy->namespace_selector, ns.labels)) return;
  auto by_name = [](const SchedulingPolicy* a, const SchedulingPolicy* b) {
    return a->name < b->name;
  };
  auto& policies = ns.cluster_policies;
  policies.insert(std::upper_bound(policies.begin(), policies.end(), policy, by_name), policy);
}

void Index::Select(Selected& selected, const SchedulingPolicy& policy,
                   const placement::Labels& labels) {
  ++selected.compared;
  if (Matches(policy.pod_selector, labels)) selected.policies.push_back(&policy);
}

void Index::SelectOwn(Selected& selected, const std::string& ns,
                      const placement::Labels& labels) const {
  auto own = policies_.find(ns);
  if (own == policies_.end()) return;
  for (const auto& [name, policy] : own->second) Select(selected, *policy, labels);
}

kube::Result<Index::Selected> Index::For(const std::string& ns,
                                         const placement::Labels& labels) const {
  Selected selected;
  auto known = namespaces_.find(ns);
  if (known != namespaces_.end()) {
    for (const SchedulingPolicy* policy : known->second.cluster_policies)
      Select(selected, *policy, labels);
  } else if (!cluster_policies_.empty()) {
    return kube::Error::NotFound("the labels of namespace " + ns + " are not known");
  }
  SelectOwn(selected, ns, labels);
  return selected;
}

Index::Selected Index::ForUnknown(const std::string& ns, const placement::Labels& namespace_labels,
                                  const placement::Labels& labels) const {
  Selected selected;
  for (const auto& [name, policy] : cluster_policies_) {
    if (Matches(policy->namespace_selector, namespace_labels)) Select(selected, *policy, labels);
  }
  SelectOwn(selected, ns, labels);
  return selected;
}

bool Index::MaySelect(const std::string& ns, const placement::Labels& namespace_labels) const {
  return policies_.contains(ns) ||
         std::any_of(cluster_policies_.begin(), cluster_policies_.end(), [&](const auto& policy) {
           return Matches(policy.second->namespace_selector, namespace_labels);
         });
}

const placement::Labels* Index::LabelsOf(const std::string& ns) const {
  auto known = namespaces_.find(ns);
  return known == namespaces_.end() ? nullptr : &known->second.labels;
}

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
// Index: the policies of the cluster by namespace, so that a review looks only at those that may
// select its pod.
//
//   index.PutNamespace("shop", labels);
//   index.Put(*SchedulingPolicy::FromJson(json, Scope::kNamespace));
//   auto selected = index.For("shop", pod_labels);
//   if (selected) Merge(spec, path, selected->policies);
//
// Which cluster policies select a namespace is decided when one of them changes, not at a review.
// Policies with problems are left out, each alone. Thread: one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "placement/selector.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {

// False if the policy has problems, no criteria, or lacks a selector.
bool CanSelect(const SchedulingPolicy& policy);

class Index {
 public:
  // Adds the policy, or replaces the one of its scope, namespace and name.
  void Put(SchedulingPolicy policy);
  void Remove(Scope scope, const std::string& ns, const std::string& name);
  // Adds the namespace, or replaces its labels.
  void PutNamespace(const std::string& ns, placement::Labels labels);
  // The policies in it stay until they are removed.
  void RemoveNamespace(const std::string& ns);

  struct Selected {
    // In the order of merging. Valid until the next change of the index.
    std::vector<const SchedulingPolicy*> policies;
    // How many pod selectors were compared with the labels: the cost of this call.
    size_t compared = 0;
  };
  // The policies that select pods with `labels` in namespace `ns`. Errors: kNotFound if the labels
  // of the namespace are unknown and a cluster policy may select it.
  kube::Result<Selected> For(const std::string& ns, const placement::Labels& labels) const;
  // The same for a namespace that is not in the index, which has `namespace_labels`.
  Selected ForUnknown(const std::string& ns, const placement::Labels& namespace_labels,
                      const placement::Labels& labels) const;

  // False if no policy selects pods in namespace `ns`, which has `namespace_labels`, whatever their
  // labels are.
  bool MaySelect(const std::string& ns, const placement::Labels& namespace_labels) const;

  // nullptr if the namespace is unknown.
  const placement::Labels* LabelsOf(const std::string& ns) const;
  // True without any policy that can select a pod.
  bool empty() const { return cluster_policies_.empty() && policies_.empty(); }

 private:
  // By name. Only policies that can select a pod.
  using Policies = std::map<std::string, std::unique_ptr<const SchedulingPolicy>>;
  struct Namespace {
    placement::Labels labels;
    // The cluster policies that select it, by name.
    std::vector<const SchedulingPolicy*> cluster_policies;
  };

  // Adds `policy` to `selected` if it selects pods with `labels`.
  static void Select(Selected& selected, const SchedulingPolicy& policy,
                     const placement::Labels& labels);
  void SelectOwn(Selected& selected, const std::string& ns, const placement::Labels& labels) const;
  // Adds the cluster policy to the namespace if it selects it.
  static void Select(Namespace& ns, const SchedulingPolicy* policy);

  Policies cluster_policies_;
  std::map<std::string, Policies> policies_;
  std::map<std::string, Namespace> namespaces_;
};

}  // namespace policy

// SPDX-License-Identifier: Apache-2.0
// Namespaces: which namespaces a namespaceSelector selects, without those that are excluded
// (api/excluded_namespaces.h). A watch of all namespaces; of each only name and labels are held,
// about 300 bytes. Thread: the client's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/excluded_namespaces.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"

namespace operator_ {

class Namespaces {
 public:
  Namespaces(kube::Client& client, kube::Clock& clock, api::ExcludedNamespaces excluded);

  // Called with the name of a namespace that was added, updated or deleted. Before Start().
  void OnNamespace(std::function<void(const std::string& ns)> listener);

  // Starts the watch; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync() { return namespaces_.WaitForSync(); }

  // Decides as the API server does for a webhook: an absent or empty selector selects every
  // namespace that is not excluded, an invalid one none. Returns: nullopt if the watch has not seen
  // the namespace.
  std::optional<bool> Selects(const std::optional<kube::meta::LabelSelector>& selector,
                              const std::string& ns) const;
  // Whether `ns` has the label api::kExcludeLabel.
  bool OptsOut(const std::string& ns) const;

 private:
  api::ExcludedNamespaces excluded_;
  kube::Informer<kube::core::Namespace> namespaces_;
};

}  // namespace operator_

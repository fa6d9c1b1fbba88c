// SPDX-License-Identifier: Apache-2.0
// Namespaces: which namespaces a namespaceSelector selects. A watch of all namespaces; of each only
// name and labels are held, about 300 bytes. Thread: the client's.
#pragma once

#include <functional>
#include <optional>
#include <string>

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
  Namespaces(kube::Client& client, kube::Clock& clock);

  // Called with the name of a namespace that appeared, changed or went. Before Start().
  void OnNamespace(std::function<void(const std::string& ns)> listener);

  // The watch begins; `tasks` must be stopped before this goes.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync() { return namespaces_.WaitForSync(); }

  // As the API server decides for a webhook: an absent or empty selector selects every namespace,
  // one that cannot be evaluated none. Returns: nullopt if that depends on a namespace that the
  // watch does not know (yet).
  std::optional<bool> Selects(const std::optional<kube::meta::LabelSelector>& selector,
                              const std::string& ns) const;

 private:
  kube::Informer<kube::core::Namespace> namespaces_;
};

}  // namespace operator_

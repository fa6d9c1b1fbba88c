// SPDX-License-Identifier: Apache-2.0
// NamespaceSelection: whether the ClusterPodPlacementConfig selects a namespace. The Namespace is
// read from the API server, only for the few pods where this decides whether the operator places
// them. Concurrent calls for a namespace share a read. Thread: the client's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/excluded_namespaces.h"
#include "kube/base/async.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"

namespace cluster_controller {

class NamespaceSelection {
 public:
  // `client` outlives it.
  explicit NamespaceSelection(kube::Client& client, api::ExcludedNamespaces excluded = {})
      : client_(client), excluded_(std::move(excluded)) {}

  // An absent selector selects all namespaces that are not excluded, by their names or by the label
  // api::kExcludeLabel. Also true if it cannot be decided: the namespace was deleted or may not be
  // read, or the selector is invalid. Errors: the API server's, except kNotFound and
  // kPermissionDenied.
  kube::Async<bool> IsSelected(std::string ns, std::optional<kube::meta::LabelSelector> selector);
  // The same; nullopt if it cannot be decided. For what need not be done then.
  kube::Async<std::optional<bool>> Decide(std::string ns,
                                          std::optional<kube::meta::LabelSelector> selector);

 private:
  using Shared = std::shared_ptr<const kube::core::Namespace>;

  kube::Async<Shared> Read(std::string ns);
  kube::SharedCall<Shared>& ReadOf(const std::string& ns);

  kube::Client& client_;
  api::ExcludedNamespaces excluded_;
  std::unordered_map<std::string, kube::SharedCall<Shared>> reads_;  // by namespace
};

}  // namespace cluster_controller

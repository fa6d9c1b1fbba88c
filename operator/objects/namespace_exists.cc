// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/namespace_exists.h"

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace operator_ {

kube::Async<bool> NamespaceExists(kube::Client& client, std::string ns) {
  kube::ObjectKey key{"", std::move(ns)};
  auto found = co_await kube::GetObject(client, kube::kNamespaces, std::move(key));
  if (!found && !IsNotFound(found)) co_return found.error().Prefix("get namespace");
  co_return static_cast<bool>(found);
}

}  // namespace operator_

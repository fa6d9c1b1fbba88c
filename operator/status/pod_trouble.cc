// SPDX-License-Identifier: Apache-2.0
#include "operator/status/pod_trouble.h"

#include "kube/client/typed.h"
#include "operator/objects/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {

kube::Async<std::optional<Trouble>> PodTrouble(kube::Client& client, std::string ns, std::string name) {
  kube::ListOptions options{.ns = std::move(ns)};
  options.label_selector = std::string(kManagedBySelector) + "," + std::string(kNameLabel) + "=" + name;
  kube::Result<kube::TypedList<kube::Unstructured>> pods =
      co_await kube::ListObjects(client, kPods, std::move(options));
  if (!pods) co_return pods.error().Prefix("list the pods of " + name);
  co_return TroubleOfPods(pods->items);
}

}  // namespace operator_

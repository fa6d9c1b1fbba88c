// SPDX-License-Identifier: Apache-2.0
#include "fleet/bounds/find_by_name.h"

#include <utility>

#include "kube/client/typed.h"

namespace fleet {

kube::Async<std::optional<kube::Unstructured>> FindByName(kube::Client& client,
                                                          kube::Resource resource,
                                                          kube::ObjectKey key) {
  kube::ListOptions options{.ns = key.ns, .field_selector = "metadata.name=" + key.name};
  kube::Result<kube::TypedList<kube::Unstructured>> list =
      co_await kube::ListObjects(client, resource, std::move(options));
  if (!list) co_return list.error();
  for (kube::Unstructured& item : list->items) {
    if (kube::KeyOf(item) == key) co_return std::optional<kube::Unstructured>(std::move(item));
  }
  co_return std::optional<kube::Unstructured>();
}

}  // namespace fleet

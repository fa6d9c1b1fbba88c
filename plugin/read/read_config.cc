// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_config.h"

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/read/read_namespace.h"

namespace plugin {

using kube::Async;
using kube::Client;

Async<ConfigEvidence> ReadConfig(Client& client, kube::ObjectKey key,
                                 std::string operator_namespace) {
  const std::string ns = key.ns, name = key.name;
  auto config = co_await kube::Get<api::PodPlacementConfig>(client, std::move(key));
  if (!config) co_return config.error();
  auto around = co_await ReadNamespace(client, ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  ConfigEvidence evidence{.ns = ns, .name = name, .around = *around, .pods = {name, *around}};
  kube::ListOptions options{.ns = ns};
  kube::ListPages pages(client, kube::kPods, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    auto page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      auto pod = kube::DecodeBare<kube::core::Pod>(item);
      if (!pod) co_return pod.error();
      evidence.pods.Add(*pod);
    }
  }
  co_return evidence;
}

}  // namespace plugin

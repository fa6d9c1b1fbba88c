// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_config.h"

#include <utility>

#include "kube/client/typed.h"
#include "plugin/read/read_namespace.h"

namespace plugin {

using kube::Async;
using kube::Client;

Async<ConfigEvidence> ReadConfig(Client& client, kube::ObjectKey key,
                                 std::string operator_namespace) {
  ConfigEvidence evidence{.ns = key.ns, .name = key.name};
  auto config = co_await kube::Get<api::PodPlacementConfig>(client, std::move(key));
  if (!config) co_return config.error();
  auto around = co_await ReadNamespace(client, evidence.ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  evidence.around = std::move(*around);
  kube::ListOptions options{.ns = evidence.ns};
  auto pods = co_await kube::List<kube::core::Pod>(client, std::move(options));
  if (!pods) co_return pods.error();
  evidence.pods = std::move(pods->items);
  co_return evidence;
}

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_pod.h"

#include <algorithm>
#include <utility>

#include "kube/client/typed.h"
#include "plugin/read/read_namespace.h"

namespace plugin {

using kube::Async;
using kube::Client;
using kube::Result;
using kube::core::Event;

Async<std::vector<Event>> ReadEvents(Client& client, std::string ns, std::string uid) {
  kube::ListOptions options{.ns = std::move(ns), .field_selector = "involvedObject.uid=" + uid};
  auto events = co_await kube::List<Event>(client, std::move(options));
  if (!events) co_return events.error();
  std::stable_sort(events->items.begin(), events->items.end(), [](const Event& a, const Event& b) {
    return a.last_timestamp().seconds() < b.last_timestamp().seconds();
  });
  co_return std::move(events->items);
}

Async<PodEvidence> ReadPod(Client& client, kube::Clock& clock, kube::ObjectKey key,
                           std::string operator_namespace) {
  PodEvidence evidence;
  const std::string ns = key.ns;
  Result<kube::core::Pod> pod = co_await kube::Get<kube::core::Pod>(client, std::move(key));
  if (!pod) co_return pod.error();
  evidence.now = clock.WallNow();
  evidence.pod = std::move(*pod);
  auto around = co_await ReadNamespace(client, ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  evidence.around = std::move(*around);
  std::string uid = evidence.pod.metadata().uid();
  auto events = co_await ReadEvents(client, ns, std::move(uid));
  if (events) {
    evidence.events = std::move(*events);
  } else {
    evidence.around->unread.push_back({"events", events.error().message()});
  }
  co_return evidence;
}

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
#include "operator/farewell.h"

#include <glog/logging.h>

#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "kube/client/typed.h"
#include "operator/finalizers.h"
#include "operator/gates.h"
#include "operator/objects/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {

using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;
using kube::core::Pod;

Farewell::Farewell(kube::Client& client, kube::Clock& clock, std::string ns, FarewellTiming timing)
    : client_(client),
      clock_(clock),
      timing_(timing),
      namespace_(client, clock, {.field_selector = "metadata.name=" + ns, .resource = kNamespaces}) {
  namespace_.OnEvent([this](kube::EventType, const Unstructured& object) {
    if (due_ || !object.metadata().has_deletion_timestamp()) return;
    LOG(WARNING) << "the operator's namespace is being deleted: every pod that waits is let go";
    due_ = true;
    if (on_due_) on_due_();
  });
}

boost::asio::awaitable<void> Farewell::Watch() { return namespace_.Run(); }

Async<> Farewell::Say() {
  co_await kube::IgnoreCancellation();
  kube::TimePoint begin = clock_.Now();
  kube::TimePoint quiet_since = begin;
  bool hurry = false;
  while (true) {
    Result<bool> busy = co_await Pass(hurry || clock_.Now() >= begin + timing_.drain);
    if (hurry) {
      if (!busy) co_return busy.error();
      co_return Ok();
    }
    LOG_IF(WARNING, !busy) << "farewell: " << busy.error();
    if (!busy || *busy) quiet_since = clock_.Now();
    if (clock_.Now() >= quiet_since + timing_.settle) break;
    Result<> slept = co_await clock_.Sleep(timing_.poll);
    if (slept) continue;
    hurry = true;
    co_await kube::ForgetCancellation();
  }
  LOG(INFO) << "farewell: no pod waits for this operator";
  co_return Ok();
}

Async<bool> Farewell::Pass(bool let_go) {
  Result<bool> configured = co_await RemoveWebhookConfigurations();
  if (!configured) co_return configured.error();
  Result<> freed = co_await FreeClusterConfig();
  if (!freed) co_return freed.error();

  bool waiting = false;
  std::vector<std::string> gates = {std::string(api::kClusterGate), std::string(api::kLocalGate)};
  for (const std::string& gate : gates) {
    std::string everywhere;
    Result<std::vector<Pod>> pods = co_await GatedPods(client_, std::move(everywhere), gate);
    if (!pods) co_return pods.error();
    waiting = waiting || !pods->empty();
    if (!let_go) continue;
    Result<> dropped = co_await DropGates(client_, std::move(*pods), gates);
    if (!dropped) co_return dropped.error();
  }
  co_return *configured || waiting;
}

Async<bool> Farewell::RemoveWebhookConfigurations() {
  kube::ListOptions ours{.label_selector = std::string(kManagedBySelector)};
  Result<kube::TypedList<Unstructured>> found =
      co_await kube::ListObjects(client_, kMutatingWebhookConfigurations, std::move(ours));
  if (!found) co_return found.error();
  for (const Unstructured& configuration : found->items) {
    ObjectKey key = kube::KeyOf(configuration);
    Result<> deleted = co_await kube::DeleteObject(client_, kMutatingWebhookConfigurations, std::move(key));
    if (!deleted && !IsNotFound(deleted)) co_return deleted.error();
  }
  co_return !found->items.empty();
}

Async<> Farewell::FreeClusterConfig() {
  ObjectKey key{"", std::string(api::kClusterConfigName)};
  Result<Unstructured> config =
      co_await kube::GetObject(client_, kube::ResourceOf<api::ClusterPodPlacementConfig>::value, std::move(key));
  if (IsNotFound(config)) co_return Ok();
  if (!config) co_return config.error();
  co_return co_await RemoveFinalizers(client_, config->metadata());
}

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// OwnWebhooksReconciler: registers the operator's own webhooks at the API server: the validating
// webhook configuration, and the conversion in the CRD of the ClusterPodPlacementConfig. There is
// one request, {"", "webhooks"}. Both objects are watched and restored at once, because writes of
// both kinds fail without them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/certificates/own_certificate.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {

class OwnWebhooksReconciler final : public kube::Reconciler {
 public:
  // `validated`: beside both configs. The references outlive this.
  OwnWebhooksReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                        OperandStore& store, OwnCertificate& certificate,
                        std::vector<ValidatedKind> validated);

  // Called when the CRD or the CA bundle changes; the store watches the webhook configuration.
  // Before Start().
  void OnChange(std::function<void()> listener) { on_change_ = std::move(listener); }
  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync() { return crd_.WaitForSync(); }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  boost::asio::awaitable<void> WatchBundle();
  kube::Async<> PatchConversion();

  kube::Client& client_;
  OperandOptions options_;
  OperandStore& store_;
  OwnCertificate& certificate_;
  std::vector<ValidatedKind> validated_;
  // Trimmed to its conversion.
  kube::Informer<kube::Unstructured> crd_;
  std::function<void()> on_change_;
};

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// OwnWebhooksReconciler: tells the API server of the operator's own webhooks, and whom to trust for
// them: the validating webhook configuration, and the conversion of the ClusterPodPlacementConfig's
// CRD. There is one request, {"", "webhooks"}. Both are watched, as writes of both kinds fail
// without them: what somebody deletes or changes is put right at once.
#pragma once

#include <functional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/certificates/own_certificate.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"

namespace operator_ {

class OwnWebhooksReconciler final : public kube::Reconciler {
 public:
  // Everything but `options` is used while this lives.
  OwnWebhooksReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                        OperandStore& store, const OwnCertificate& certificate);

  // Called when the CRD changes; the configuration is watched by the store. Before Start().
  void OnChange(std::function<void()> listener) { on_change_ = std::move(listener); }
  // The watch begins; `tasks` must be stopped before this goes.
  void Start(kube::TaskGroup& tasks) { tasks.Spawn("watch-crd", crd_.Run()); }
  kube::Async<> WaitForSync() { return crd_.WaitForSync(); }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<> PatchConversion();

  kube::Client& client_;
  OperandOptions options_;
  OperandStore& store_;
  const OwnCertificate& certificate_;
  // Its conversion alone.
  kube::Informer<kube::Unstructured> crd_;
  std::function<void()> on_change_;
};

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// OwnWebhooksReconciler: tells the API server of the operator's own webhooks, and whom to trust for them: the validating
// webhook configuration, and the conversion of the ClusterPodPlacementConfig's CRD. There is one request, {"", "webhooks"}.
#pragma once

#include <chrono>
#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/objects/options.h"
#include "operator/operand_store.h"
#include "operator/own_certificate.h"

namespace operator_ {

class OwnWebhooksReconciler final : public kube::Reconciler {
 public:
  // Everything but `options` is used while this lives.
  OwnWebhooksReconciler(kube::Client& client, OperandOptions options, OperandStore& store,
                        const OwnCertificate& certificate);

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<> PatchConversion();

  kube::Client& client_;
  OperandOptions options_;
  OperandStore& store_;
  const OwnCertificate& certificate_;
};

}  // namespace operator_

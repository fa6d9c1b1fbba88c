// SPDX-License-Identifier: Apache-2.0
// Replica: what one process of the operator does:
//
//   prepares    reads the operator's Namespace, ensures the certificate of the operator's webhooks
//   serves      the webhooks of the configs and of the features
//   leads       the reconcilers, while it holds the Lease (leader.h)
//   tears down  when the operator's namespace is being deleted: stops leading, ungates all pods
#pragma once

#include <memory>

#include "kube/base/async.h"
#include "kube/base/notifier.h"
#include "kube/controller/controller_metrics.h"
#include "kube/program/program.h"
#include "operator/announcements/announcer.h"
#include "operator/certificates/own_certificate.h"
#include "operator/feature.h"
#include "operator/known_images.h"
#include "operator/options.h"
#include "operator/status/operand_metrics.h"
#include "operator/teardown/own_namespace_teardown.h"
#include "operator/webhooks/config_webhooks.h"

namespace operator_ {

class Replica {
 public:
  // `program` and `features` outlive this. Adds the readiness check "webhooks".
  Replica(kube::Program& program, OperatorOptions options, const Features& features,
          NewKnownImages new_known_images);

  // Until the process has to stop, and all tasks of the program have ended. Call it once, after
  // StartOps(). Errors: of the addresses; kCancelled if the process had to stop before it served.
  kube::Async<> Run();

 private:
  kube::Async<> Operate();
  // Retries until it succeeds. Errors: kCancelled when the process has to stop or the namespace is
  // being deleted.
  kube::Async<> Prepare();
  // Serves the webhooks and the protected metrics.
  kube::Result<> Serve();
  // Until the process has to stop or its work is stopped.
  boost::asio::awaitable<void> Lead();

  kube::Program& program_;
  OperatorOptions options_;
  const Features& features_;
  NewKnownImages new_known_images_;
  kube::Notifier teardown_due_;
  OwnNamespaceTeardown teardown_;
  OwnCertificate certificate_;
  // Exist once the Namespace was read.
  std::unique_ptr<Announcer> announcer_;
  std::unique_ptr<ConfigWebhooks> webhooks_;
  bool serving_ = false;
  // Of all terms of leadership.
  kube::ControllerMetrics shard_metrics_;
  kube::ControllerMetrics cluster_metrics_;
  OperandMetrics operand_metrics_;
};

}  // namespace operator_

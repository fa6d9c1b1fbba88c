// SPDX-License-Identifier: Apache-2.0
// Replica: what every replica of the operator does, whether it leads or not: it has the certificate
// of the operator's own webhooks and serves them.
#pragma once

#include "kube/base/async.h"
#include "kube/program/program.h"
#include "operator/announcements/announcer.h"
#include "operator/certificates/own_certificate.h"
#include "operator/feature.h"
#include "operator/options.h"
#include "operator/teardown/own_namespace_teardown.h"
#include "operator/webhooks/config_webhooks.h"

namespace operator_ {

// Reads the operator's Namespace into `operands` and ensures the certificate; retries until both
// succeed. Errors: kCancelled when the process has to stop or the namespace is being deleted.
kube::Async<> Prepare(kube::Program& program, OwnCertificate& certificate,
                      const OwnNamespaceTeardown& teardown, OperandOptions& operands);

class Replica {
 public:
  // All arguments outlive this, except `options`.
  Replica(kube::Program& program, OwnCertificate& certificate, const OperatorOptions& options);

  // Serves the webhooks of the configs and of `features`, and the protected metrics. This must not
  // be destroyed before the program's servers are drained. Errors: of the addresses.
  kube::Result<> Serve(const Features& features);

 private:
  kube::Program& program_;
  OwnCertificate& certificate_;
  std::string address_;
  Announcer announcer_;
  ConfigWebhooks webhooks_;
};

}  // namespace operator_

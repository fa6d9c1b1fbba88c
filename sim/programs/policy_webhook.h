// SPDX-License-Identifier: Apache-2.0
// A replica of the policy webhook as a process of the simulation: what
// scheduling-policies/webhook/policy_mode.cc and main.cc make of its parts, behind a Service of the
// simulation.
#pragma once

#include <functional>
#include <string>

#include "kube/base/async.h"
#include "sim/base/process.h"
#include "sim/cluster/http_server.h"
#include "sim/cluster/services.h"

namespace sim {

struct PolicyWebhookOptions {
  std::string operator_namespace;
  // Also the name of its Lease.
  std::string pod_name;
  // The flags of these names.
  bool only_changed_templates = false;
  bool require_cluster_policies = false;
  ServedAs served_as;
  // What its files have.
  std::function<std::string()> certificate_pem;
  // Outlives the process.
  Services* services;
};

kube::Async<> RunPolicyWebhook(Life& life, PolicyWebhookOptions options);

}  // namespace sim

// SPDX-License-Identifier: Apache-2.0
// A webhook that gates pods as a process of the simulation: what webhook/gate_mode.cc and main.cc
// make of its parts, behind a Service of the simulation.
#pragma once

#include <functional>
#include <string>

#include "kube/base/async.h"
#include "sim/base/process.h"
#include "sim/cluster/http_server.h"
#include "sim/cluster/services.h"

namespace sim {

struct GateWebhookOptions {
  // The namespace that it serves; empty for the cluster gate.
  std::string shard_namespace;
  std::string operator_namespace;
  // Places pods whose images are known (image-facts/webhook/known_images_mode.cc).
  bool known_images = false;
  ServedAs served_as;
  // What its files have.
  std::function<std::string()> certificate_pem;
  // Outlives the process.
  Services* services;
};

kube::Async<> RunGateWebhook(Life& life, GateWebhookOptions options);

}  // namespace sim

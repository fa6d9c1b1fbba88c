// SPDX-License-Identifier: Apache-2.0
// FactImporter: adds what the hub shares to the ImageFacts of this cluster, whose cluster
// controller then need not ask a registry for it. Only while that keeps ImageFacts, with
// `knownImages: PlaceAtCreation`. Thread: the clients'.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/agent/publisher.h"
#include "fleet/image-facts/fleet_objects.h"
#include "image-facts/image_fact.h"
#include "image-facts/stored_objects.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace fleet {

class FactImporter final : public Publisher {
 public:
  static constexpr std::chrono::seconds kEvery{60};

  // `hub_namespace`: of the hub's own pods, with the shared objects. The references outlive it.
  FactImporter(kube::Client& hub, kube::Client& member, kube::Clock& clock,
               std::string hub_namespace, std::string operator_namespace)
      : hub_(hub),
        clock_(clock),
        hub_namespace_(std::move(hub_namespace)),
        stored_(member, std::move(operator_namespace)) {}

  std::string_view name() const override { return "image facts of the hub"; }
  kube::Async<kube::Duration> Publish() override;

 private:
  // Of the shared objects that have changed since the last import.
  kube::Async<std::vector<image_facts::ImageFact>> Read(const SharedVersions& versions);

  kube::Client& hub_;
  kube::Clock& clock_;
  std::string hub_namespace_;
  image_facts::StoredObjects stored_;
  // What was imported.
  SharedVersions imported_;
};

}  // namespace fleet

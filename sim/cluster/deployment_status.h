// SPDX-License-Identifier: Apache-2.0
// The status that the controller of Deployments writes. Pure.
#pragma once

#include <string>

#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace sim {

struct DeploymentState {
  int replicas = 0;
  int updated = 0;
  int ready = 0;
  // Why a pod could not be created; "" if it could.
  std::string failure;
  // When the template was changed.
  kube::TimePoint since;

  bool operator==(const DeploymentState&) const = default;
};

// Conditions that are as before keep their times.
kube::Json StatusOf(const kube::Json& deployment, const DeploymentState& state,
                    kube::TimePoint now);

}  // namespace sim

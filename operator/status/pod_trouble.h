// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/status/rollout.h"

namespace operator_ {

// Asks the pods of Deployment ns/name (one of ours) why they do not run; see TroubleOfPods().
kube::Async<std::optional<Trouble>> PodTrouble(kube::Client& client, std::string ns,
                                               std::string name);

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// What flows about scheduling policies create and wait for.
#pragma once

#include <string>

#include "e2e/framework/flow.h"
#include "kube/types/unstructured.h"

namespace e2e {

// A toleration that no node needs: it shows where the criteria of a policy are.
kube::Json MarkOfPolicy(const std::string& value);
// A PodSchedulingPolicy that adds MarkOfPolicy(value) to the pods with the label app=web.
kube::Json MakePolicy(const std::string& name, const std::string& value);

// The PodSchedulingPolicy is in force.
Condition PolicyReady(const std::string& name);
// Nothing of the policy webhook is left: no object with its name, no Lease of a replica.
Condition PolicyWebhookRemoved();

}  // namespace e2e

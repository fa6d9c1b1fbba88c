// SPDX-License-Identifier: Apache-2.0
// Finalizers of the ClusterPodPlacementConfig: they keep the config until the operator has removed
// its operands.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/meta.pb.h"

namespace operator_ {

// Adds the operator's finalizers to the ClusterPodPlacementConfig with this metadata, or removes
// them all. That for ENoExecEvents is added with `monitors`; it is the Go operator's too. Other
// finalizers stay. Makes no call if nothing changes; a deleted object is no error. Errors: the API
// server's; kConflict if the object has changed since.
kube::Async<> AddFinalizers(kube::Client& client, kube::meta::ObjectMeta config, bool monitors);
kube::Async<> RemoveFinalizers(kube::Client& client, kube::meta::ObjectMeta config);

// The other finalizers, as "a, b".
std::string ForeignFinalizers(const kube::meta::ObjectMeta& config);

}  // namespace operator_

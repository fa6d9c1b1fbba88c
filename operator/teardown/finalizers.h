// SPDX-License-Identifier: Apache-2.0
// Finalizers of the ClusterPodPlacementConfig: they keep it until the operator has taken away what
// it made for it.
#pragma once

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/meta.pb.h"

namespace operator_ {

// Writes the finalizers of ours into, or out of, the ClusterPodPlacementConfig with this metadata;
// those of others stay. Among those that are removed is the Go operator's for its ENoExecEvents. No
// call is made where that changes nothing, and an object that is gone is no error. Errors: the API
// server's; kConflict if the object has changed since.
kube::Async<> AddFinalizers(kube::Client& client, kube::meta::ObjectMeta config);
kube::Async<> RemoveFinalizers(kube::Client& client, kube::meta::ObjectMeta config);

}  // namespace operator_

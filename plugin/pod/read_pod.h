// SPDX-License-Identifier: Apache-2.0
// ReadPod: reads what a cluster says about a pod, with the user's rights. What the user may not
// read is named in PodEvidence::unread. Thread: the client's.
#pragma once

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// Errors: those of reading the pod itself.
kube::Async<PodEvidence> ReadPod(kube::Client& client, kube::Clock& clock, kube::ObjectKey key);

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
// Reads the workloads of a namespace, with the user's rights. Thread: the client's.
#pragma once

#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "plugin/pod/evidence.h"
#include "plugin/simulate/subjects.h"

namespace plugin {

// Deployments, StatefulSets, DaemonSets, CronJobs, and those Jobs, ReplicaSets and pods that no
// other object has created. Kinds that may not be read are added to `unread`. `ns`: empty for all.
// Errors: kCancelled.
kube::Async<std::vector<Subject>> ReadSubjects(kube::Client& client, std::string ns,
                                               std::vector<Unread>& unread);

}  // namespace plugin

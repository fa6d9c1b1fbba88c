// SPDX-License-Identifier: Apache-2.0
// Foreign objects: objects with the name of one of the operator's, created by another operator, as
// in a cluster that moves here from the Go operator.
//
// An apply would merge both: a Service would select by the labels of both, a webhook configuration
// would keep the annotation by which OpenShift injects its own CA, and the selector of a Deployment
// is immutable. So foreign objects are deleted and then created anew.
#pragma once

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace operator_ {

// Deletes the object at `key` if it is foreign, after removing the finalizers of the Go operator,
// which no program would handle any more. Returns: whether it was foreign. Errors: the API
// server's.
kube::Async<bool> RemoveForeign(kube::Client& client, kube::Resource resource, kube::ObjectKey key);

}  // namespace operator_

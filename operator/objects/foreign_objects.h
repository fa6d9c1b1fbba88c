// SPDX-License-Identifier: Apache-2.0
// Foreign objects: those that have the name of one of this operator's objects but were made by
// another operator, as in a cluster that moves here from the Go operator.
//
// To apply over them would merge the two: a Service would select by the labels of both, a webhook
// configuration would keep the annotation by which OpenShift puts its own CA there, and the
// selector of a Deployment cannot change at all. So they are deleted, and then made anew.
#pragma once

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace operator_ {

// Deletes the object at `key` if it is foreign; finalizers of the Go operator, which nobody would
// answer, go first. Returns: whether there was one. Errors: the API server's.
kube::Async<bool> RemoveForeign(kube::Client& client, kube::Resource resource, kube::ObjectKey key);

}  // namespace operator_

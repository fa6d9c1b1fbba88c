// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// Replaces what `status` names in the object's status. An object that is gone needs none: no error.
kube::Async<> WriteStatus(kube::Client& client, kube::Resource resource, kube::ObjectKey key,
                          kube::Json status);

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// DesiredObject: one object as it is to be in the cluster.
#pragma once

#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct DesiredObject {
  kube::Resource resource;
  kube::Json body;

  kube::ObjectKey Key() const {
    return {kube::StringAt(body, "metadata.namespace"), kube::StringAt(body, "metadata.name")};
  }
};

using DesiredObjects = std::vector<DesiredObject>;

}  // namespace operator_

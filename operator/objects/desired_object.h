// SPDX-License-Identifier: Apache-2.0
// DesiredObject: one object as it is to be in the cluster. ObjectId: which object, of any kind.
#pragma once

#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct ObjectId {
  kube::Resource resource;
  kube::ObjectKey key;
};

struct DesiredObject {
  kube::Resource resource;
  kube::Json body;
  // False: an option leaves it out; one that exists is removed.
  bool wanted = true;

  kube::ObjectKey Key() const {
    return {kube::StringAt(body, "metadata.namespace"), kube::StringAt(body, "metadata.name")};
  }
  ObjectId Id() const { return {resource, Key()}; }
};

// In the order in which they are created.
using DesiredObjects = std::vector<DesiredObject>;

// The reverse of the order of creation.
inline std::vector<ObjectId> InOrderOfRemoval(const DesiredObjects& objects) {
  std::vector<ObjectId> ids;
  for (auto object = objects.rbegin(); object != objects.rend(); ++object)
    ids.push_back(object->Id());
  return ids;
}

}  // namespace operator_

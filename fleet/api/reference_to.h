// SPDX-License-Identifier: Apache-2.0
// ReferenceTo() - what an event about an object of this API names.
#pragma once

#include <string>

#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace fleet {

// `object` has ns, name, uid and resource_version, as Placement and FleetPodPlacement.
template <class Object>
kube::core::ObjectReference ReferenceTo(const kube::Resource& resource, const Object& object) {
  kube::core::ObjectReference reference;
  reference.set_api_version(resource.ApiVersion());
  reference.set_kind(std::string(resource.kind));
  reference.set_namespace_(object.ns);
  reference.set_name(object.name);
  reference.set_uid(object.uid);
  reference.set_resource_version(object.resource_version);
  return reference;
}

}  // namespace fleet

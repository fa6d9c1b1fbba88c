// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"

namespace api {

// Of an object that is to be deleted with the ClusterPodPlacementConfig of this UID.
inline kube::meta::OwnerReference OwnedByConfig(const std::string& uid) {
  constexpr kube::Resource kOwner = kube::ResourceOf<ClusterPodPlacementConfig>::value;
  kube::meta::OwnerReference owner;
  owner.set_api_version(kOwner.ApiVersion());
  owner.set_kind(std::string(kOwner.kind));
  owner.set_name(std::string(kClusterConfigName));
  owner.set_uid(uid);
  return owner;
}

}  // namespace api

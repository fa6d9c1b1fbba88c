// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// Merges `status` into the status of the object. An object that was deleted is no error.
kube::Async<> PatchStatus(kube::Client& client, kube::Resource resource, kube::ObjectKey key,
                          kube::Json status);

// The same for a PodPlacementConfig or the ClusterPodPlacementConfig. Makes no call if `config` has
// this status.
template <class Config, class Status>
kube::Async<> WriteStatus(kube::Client& client, const Config& config, const Status& status) {
  if (status == config.status) co_return kube::Ok();
  kube::ObjectKey key = kube::KeyOf(config);
  kube::Json json = StatusToJson(status);
  co_return co_await PatchStatus(client, kube::ResourceOf<Config>::value, std::move(key),
                                 std::move(json));
}

}  // namespace operator_

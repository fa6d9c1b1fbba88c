// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/create_object.h"

#include <string>
#include <utility>

#include "kube/client/typed.h"

namespace e2e {

kube::Result<> CreateObject(ProcessCluster& cluster, const kube::Resource& resource,
                            kube::Json object) {
  std::string name = kube::StringAt(object, "metadata.name");
  auto created = cluster.Run(
      kube::CreateObject(cluster.client(), resource, kube::Unstructured(std::move(object))));
  if (!created) return created.error().Prefix("create " + std::string(resource.kind) + " " + name);
  return kube::Ok();
}

}  // namespace e2e

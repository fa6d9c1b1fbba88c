// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/quota.h"

#include <utility>

#include "e2e/framework/resources.h"

namespace e2e {

using kube::Json;
using kube::Ok;
using kube::Result;

Json MakeQuota(Json hard) {
  Json quota = {{"apiVersion", "v1"}, {"kind", "ResourceQuota"}};
  quota["metadata"]["name"] = kQuotaName;
  quota["spec"]["hard"] = std::move(hard);
  return quota;
}

Condition QuotaInForce() {
  return {.name = "the quota is in force", .holds = [](Scene& scene) -> Result<> {
            auto quota = scene.Get(kResourceQuotas, kQuotaName);
            if (!quota) return quota.error();
            if (kube::Find(*quota, "status.hard") != nullptr) return Ok();
            return kube::Error::NotFound("its status");
          }};
}

}  // namespace e2e

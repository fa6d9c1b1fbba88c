// SPDX-License-Identifier: Apache-2.0
#include "operator/status/write_status.h"

#include "kube/client/typed.h"

namespace operator_ {

kube::Async<> PatchStatus(kube::Client& client, kube::Resource resource, kube::ObjectKey key,
                          kube::Json status) {
  std::string name = std::string(resource.kind) + " " + key.ToString();
  kube::Json patch = {{"status", std::move(status)}};
  std::string subresource = "status";
  kube::Result<kube::Unstructured> written =
      co_await kube::PatchObject(client, resource, std::move(key), kube::kMergePatch,
                                 std::move(patch), std::move(subresource));
  if (!written && !IsNotFound(written))
    co_return written.error().Prefix("write the status of " + name);
  co_return kube::Ok();
}

}  // namespace operator_

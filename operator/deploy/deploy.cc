// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/deploy.h"

#include <iostream>
#include <utility>

#include "deploy/install.h"
#include "deploy/manifests.h"
#include "operator/objects/foreign_objects.h"

namespace operator_ {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Result;
using kube::Unstructured;

namespace {

// A Service of the Go operator selects that operator's pods.
Async<> RemoveForeignServices(Client& client, const std::vector<Unstructured>& objects) {
  for (const Unstructured& object : objects) {
    Result<kube::Resource> resource = deploy::ResourceOfObject(object);
    if (!resource) co_return resource.error();
    if (resource->kind != "Service") continue;
    Result<bool> removed = co_await RemoveForeign(client, *resource, kube::KeyOf(object));
    if (!removed) co_return removed.error();
    if (*removed)
      std::cout << "deleted " << deploy::Describe(object) << " of another operator" << std::endl;
  }
  co_return kube::Ok();
}

}  // namespace

Async<> Deploy(Client& client, Clock& clock, std::vector<Unstructured> objects,
               DeployOptions options) {
  Result<> removed = co_await RemoveForeignServices(client, objects);
  if (!removed) co_return removed.error();
  deploy::InstallOptions install{.timeout = options.timeout};
  Result<> installed = co_await deploy::Install(client, clock, std::move(objects), install);
  if (!installed) co_return installed.error();
  std::cout << "the operator is ready" << std::endl;
  co_return kube::Ok();
}

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/member.h"

#include <algorithm>
#include <utility>

#include "fleet/deploy/manifests.h"
#include "fleet/standalone/access/hub_token.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"

namespace fleet {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;

Result<ObjectKey> HubSecretOf(const std::vector<Unstructured>& agent) {
  for (const Unstructured& object : agent) {
    if (kube::StringAt(object.body(), "kind") == kube::kDeployments.kind)
      return ObjectKey{object.metadata().namespace_(), std::string(kHubSecret)};
  }
  return Error::Invalid("the agent's manifests have no Deployment");
}

Async<> CheckMemberName(kube::Client& member, ObjectKey secret, std::string cluster) {
  Result<Unstructured> stored = co_await kube::GetObject(member, kube::kSecrets, secret);
  if (IsNotFound(stored)) co_return kube::Ok();
  if (!stored) co_return stored.error();
  const std::string path = "data." + std::string(kHubClusterKey);
  Result<std::string> name = kube::Base64Decode(kube::StringAt(stored->body(), path));
  if (name && *name != cluster && !name->empty()) {
    co_return Error::AlreadyExists("this cluster is a member by the name " + *name +
                                   ": remove it with //fleet:leave before");
  }
  co_return kube::Ok();
}

Async<bool> HubOwnsMembership(kube::Client& hub, std::string ns) {
  ObjectKey key{ns, kHubDeployment};
  Result<Unstructured> deployment = co_await kube::GetObject(hub, kube::kDeployments, key);
  if (IsNotFound(deployment)) {
    co_return Error::NotFound("there is no hub in the namespace " + ns +
                              " of its cluster: install it with //fleet:deploy-hub");
  }
  if (!deployment) co_return deployment.error();
  const Json& containers = kube::ListAt(deployment->body(), "spec.template.spec.containers");
  if (containers.empty()) co_return false;
  const Json& args = kube::ListAt(containers.front(), "args");
  const Json own = "--membership=own";
  co_return std::find(args.begin(), args.end(), own) != args.end();
}

}  // namespace fleet

// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/join.h"

#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include "deploy/install.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/access/hub_token.h"
#include "fleet/standalone/deploy/member.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::TimePoint;
using kube::Unstructured;
using namespace std::chrono_literals;

constexpr auto kPollEvery = 500ms;

// The ManagedCluster, accepted: whoever may write it accepts by calling this.
Async<> Accept(Client& hub, std::string cluster, std::map<std::string, std::string> labels) {
  ObjectKey key{"", cluster};
  Result<Unstructured> stored = co_await kube::GetObject(hub, kManagedClusters, key);
  if (IsNotFound(stored)) {
    Json body = {{"apiVersion", kManagedClusters.ApiVersion()},
                 {"kind", std::string(kManagedClusters.kind)},
                 {"metadata", {{"name", cluster}, {"labels", std::move(labels)}}},
                 {"spec", {{"hubAcceptsClient", true}, {"leaseDurationSeconds", 60}}}};
    Unstructured object(std::move(body));
    Result<Unstructured> created =
        co_await kube::CreateObject(hub, kManagedClusters, std::move(object));
    if (!created) co_return created.error().Prefix("create ManagedCluster " + cluster);
    std::cout << "created ManagedCluster " << cluster << std::endl;
    co_return Ok();
  }
  if (!stored) co_return stored.error().Prefix("read ManagedCluster " + cluster);
  if (kube::BoolAt(stored->body(), "spec.hubAcceptsClient")) co_return Ok();
  Json patch = {{"spec", {{"hubAcceptsClient", true}}}};
  Result<Unstructured> accepted =
      co_await kube::PatchObject(hub, kManagedClusters, key, kube::kMergePatch, std::move(patch));
  if (!accepted) co_return accepted.error().Prefix("accept ManagedCluster " + cluster);
  std::cout << "accepted ManagedCluster " << cluster << std::endl;
  co_return Ok();
}

// Whether the hub has written all objects that give the agent access.
Async<bool> HasAccess(Client& hub, std::string cluster) {
  std::vector<Json> objects = AgentAccess(cluster);
  for (size_t i = 0; i < objects.size(); ++i) {
    Unstructured object(std::move(objects[i]));
    ObjectKey key = kube::KeyOf(object);
    Result<Unstructured> stored =
        co_await kube::GetObject(hub, kAgentAccessResources[i], std::move(key));
    if (IsNotFound(stored)) co_return false;
    if (!stored) co_return stored.error();
  }
  co_return true;
}

Async<> AwaitAccess(Client& hub, Clock& clock, std::string cluster, TimePoint deadline) {
  std::cout << "waiting for the hub to give the agent access" << std::endl;
  while (true) {
    Result<bool> has = co_await HasAccess(hub, cluster);
    if (has && *has) co_return Ok();
    if (clock.Now() >= deadline) {
      if (!has) co_return has.error();
      co_return Error::DeadlineExceeded("the hub has given the agent no access; ManagedCluster " +
                                        cluster + " and its events may say why");
    }
    Result<> slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

Async<> ApplyAccess(Client& hub, const kube::Resource& resource, Json body) {
  kube::ApplyOptions as_deployer{.field_manager = std::string(deploy::kFieldManager)};
  Unstructured object(std::move(body));
  const std::string name = std::string(resource.kind) + " " + kube::KeyOf(object).ToString();
  Result<Unstructured> applied =
      co_await kube::ApplyObject(hub, resource, std::move(object), std::move(as_deployer));
  if (!applied) co_return applied.error().Prefix("apply " + name);
  std::cout << "applied " << name << " on the hub" << std::endl;
  co_return Ok();
}

// Gives the agent access on a hub whose membership is OCM's: OCM's controller creates the
// namespace, but no access for this agent.
Async<> GiveAccess(Client& hub, std::string cluster) {
  ObjectKey key{"", cluster};
  Result<Unstructured> ns = co_await kube::GetObject(hub, kube::kNamespaces, key);
  if (!ns && !IsNotFound(ns)) co_return ns.error();
  if (ns && !IsClusterNamespace(ns->body())) {
    co_return Error::AlreadyExists("the hub has a namespace " + cluster +
                                   " that is not of this member: choose another name");
  }
  if (!ns) {
    Json body = ClusterNamespace(cluster);
    Result<> applied = co_await ApplyAccess(hub, kube::kNamespaces, std::move(body));
    if (!applied) co_return applied.error();
  }
  std::vector<Json> objects = AgentAccess(cluster);
  for (size_t i = 0; i < objects.size(); ++i) {
    Result<> applied = co_await ApplyAccess(hub, kAgentAccessResources[i], std::move(objects[i]));
    if (!applied) co_return applied.error();
  }
  co_return Ok();
}

Unstructured HubSecret(const ObjectKey& key, const JoinOptions& options, const HubToken& token) {
  Json secret = TokenPatch(token);
  secret["apiVersion"] = kube::kSecrets.ApiVersion();
  secret["kind"] = std::string(kube::kSecrets.kind);
  secret["metadata"]["namespace"] = key.ns;
  secret["metadata"]["name"] = key.name;
  secret["data"][std::string(kHubKubeconfigKey)] = kube::Base64Encode(options.hub_kubeconfig);
  secret["data"][std::string(kHubClusterKey)] = kube::Base64Encode(options.cluster);
  return Unstructured(std::move(secret));
}

Async<> AwaitAvailable(Client& hub, Clock& clock, std::string cluster, TimePoint deadline) {
  ObjectKey key{"", cluster};
  while (true) {
    Result<Unstructured> stored = co_await kube::GetObject(hub, kManagedClusters, key);
    if (stored && ConditionStatus(stored->body(), kClusterAvailable) == "True") co_return Ok();
    if (clock.Now() >= deadline) {
      co_return Error::DeadlineExceeded(
          "the agent runs, but has not published the cluster: its log says why, such as that the "
          "address of the hub cannot be reached from there");
    }
    Result<> slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

}  // namespace

Async<> Join(Client& hub, Client& member, Clock& clock, JoinOptions options) {
  const TimePoint deadline = clock.Now() + options.timeout;
  std::optional<std::string> refused = RefusedName(options.cluster, options.hub_namespace);
  if (refused) co_return Error::Invalid("no member can be " + options.cluster + ": " + *refused);
  Result<ObjectKey> secret = HubSecretOf(options.agent);
  if (!secret) co_return secret.error();
  Result<> unused = co_await CheckMemberName(member, *secret, options.cluster);
  if (!unused) co_return unused.error();

  // The hub.
  Result<bool> own = co_await HubOwnsMembership(hub, options.hub_namespace);
  if (!own) co_return own.error();
  Result<> accepted = co_await Accept(hub, options.cluster, options.labels);
  if (!accepted) co_return accepted.error();
  if (*own) {
    Result<> given = co_await AwaitAccess(hub, clock, options.cluster, deadline);
    if (!given) co_return given.error();
  } else {
    Result<> given = co_await GiveAccess(hub, options.cluster);
    if (!given) co_return given.error();
  }
  Result<HubToken> token = co_await RequestHubToken(hub, clock, options.cluster);
  if (!token) co_return token.error();

  // The member: the Secret before the Deployment, whose pods need it.
  std::vector<Unstructured> objects;
  for (Unstructured& object : options.agent) {
    const std::string kind = kube::StringAt(object.body(), "kind");
    if (kind == kube::kDeployments.kind) objects.push_back(HubSecret(*secret, options, *token));
    if (options.install_agent || kind == kube::kNamespaces.kind)
      objects.push_back(std::move(object));
  }
  deploy::InstallOptions install{.timeout = options.timeout, .wait = options.wait};
  Result<> installed = co_await deploy::Install(member, clock, std::move(objects), install);
  if (!installed) co_return installed.error();
  if (!options.install_agent) {
    std::cout << "the Secret for the agent of " << options.cluster << " is written" << std::endl;
    co_return Ok();
  }
  if (options.wait) {
    Result<> available = co_await AwaitAvailable(hub, clock, options.cluster, deadline);
    if (!available) co_return available.error();
  }
  std::cout << options.cluster << (options.wait ? " is a member" : " has an agent") << std::endl;
  co_return Ok();
}

}  // namespace fleet

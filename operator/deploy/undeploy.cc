// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/undeploy.h"

#include <iostream>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "deploy/install.h"
#include "deploy/manifests.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/teardown/delete_configs.h"
#include "operator/teardown/late_pods.h"
#include "operator/teardown/ungate.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::TimePoint;
using kube::Unstructured;
using namespace std::chrono_literals;

constexpr auto kPollEvery = 500ms;
constexpr int kUngateRounds = 5;
constexpr Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

// What the operator creates, in an order of removal that is safe: first what gates or refuses,
// last the permissions.
constexpr Resource kOperands[] = {kube::kValidatingWebhookConfigurations,
                                  kube::kMutatingWebhookConfigurations,
                                  kube::kMutatingAdmissionPolicyBindings,
                                  kube::kMutatingAdmissionPolicies,
                                  kube::kValidatingAdmissionPolicyBindings,
                                  kube::kValidatingAdmissionPolicies,
                                  kube::kPodDisruptionBudgets,
                                  kube::kDeployments,
                                  kube::kDaemonSets,
                                  kube::kLeases,
                                  kube::kServices,
                                  kube::kNetworkPolicies,
                                  kube::kSecrets,
                                  kube::kConfigMaps,
                                  kube::kRoleBindings,
                                  kube::kRoles,
                                  kube::kClusterRoleBindings,
                                  kube::kClusterRoles,
                                  kube::kServiceAccounts};
// How many of them gate pods or refuse.
constexpr size_t kGating = 4;

// Whether an available operator can do the teardown.
Async<bool> OperatorAvailable(Client& client, const std::vector<Unstructured>& objects) {
  for (const Unstructured& object : objects) {
    if (kube::StringAt(object.body(), "kind") != "Deployment") continue;
    Result<Resource> resource = deploy::ResourceOfObject(object);
    if (!resource) co_return resource.error();
    auto current = co_await kube::GetObject(client, *resource, kube::KeyOf(object));
    if (IsNotFound(current)) co_return false;
    if (!current) co_return current.error();
    co_return kube::IntAt(current->body(), "status.availableReplicas") > 0;
  }
  co_return false;
}

// Deletes the operator's objects of one kind in all namespaces, except those in `keep`.
Async<> DeleteManaged(Client& client, Resource resource, const std::vector<Unstructured>& keep) {
  kube::ListOptions options{.label_selector = std::string(kManagedBySelector)};
  auto found = co_await kube::ListObjects(client, resource, std::move(options));
  // An older API server does not know MutatingAdmissionPolicies.
  if (IsNotFound(found)) co_return Ok();
  if (!found) co_return found.error();
  for (const Unstructured& object : found->items) {
    auto kept = [&](const Unstructured& other) {
      return kube::StringAt(other.body(), "kind") == resource.kind &&
             kube::KeyOf(other) == kube::KeyOf(object);
    };
    if (std::any_of(keep.begin(), keep.end(), kept)) continue;
    auto deleted = co_await kube::DeleteObject(client, resource, kube::KeyOf(object));
    if (!deleted && !IsNotFound(deleted)) co_return deleted.error();
    std::cout << "deleted " << resource.kind << " " << kube::KeyOf(object).ToString() << std::endl;
  }
  co_return Ok();
}

// Removes both gates from every gated pod; their affinity stays as it is. Sets `failures` to a
// description of the pods that could not be written.
Async<> UngatePods(Client& client, Clock& clock, TimePoint deadline, std::string& failures) {
  Result<UngateRound> round =
      co_await UngateAll(client, clock, kUngateRounds, kPollEvery, deadline);
  if (!round) co_return round.error();
  failures = DescribeFailures(*round);
  if (!failures.empty()) std::cout << failures << std::endl;
  co_return Ok();
}

Async<> RemoveOperands(Client& client, Clock& clock, const std::vector<Unstructured>& keep,
                       TimePoint deadline, std::string& failures) {
  for (size_t i = 0; i < std::size(kOperands); ++i) {
    if (i == kGating) {
      auto ungated = co_await UngatePods(client, clock, deadline, failures);
      if (!ungated) co_return ungated.error();
    }
    auto deleted = co_await DeleteManaged(client, kOperands[i], keep);
    if (!deleted) co_return deleted.error();
  }
  // No program handles the finalizers any more.
  kube::ObjectKey cluster{"", std::string(api::kClusterConfigName)};
  Json patch = {{"metadata", {{"finalizers", nullptr}}}};
  auto patched = co_await kube::PatchObject(client, kClusterConfigs, cluster, kube::kMergePatch,
                                            std::move(patch));
  if (!patched && !IsNotFound(patched)) co_return patched.error();
  co_return Ok();
}

}  // namespace

Async<> Undeploy(Client& client, Clock& clock, std::vector<Unstructured> objects,
                 UndeployOptions options) {
  TimePoint deadline = clock.Now() + options.timeout;
  std::string failures;
  auto available = co_await OperatorAvailable(client, objects);
  if (!available) co_return available.error();
  if (!*available) {
    std::cout << "no operator is available: removing its operands here" << std::endl;
    auto removed = co_await RemoveOperands(client, clock, objects, deadline, failures);
    if (!removed) co_return removed.error();
  }
  auto configs = co_await DeleteConfigs(client, clock, deadline);
  if (!configs) co_return configs.error();
  // Objects that a crash of the operator may have left.
  auto rest = co_await RemoveOperands(client, clock, objects, deadline, failures);
  if (!rest) co_return rest.error();
  TimePoint stopped = clock.Now();

  Result<> uninstalled = co_await deploy::Uninstall(client, clock, std::move(objects), deadline);
  if (!uninstalled) co_return uninstalled.error();
  std::cout << "the operator is removed" << std::endl;

  std::cout << "looking for pods that API servers store late with a scheduling gate, for up to "
            << options.stored_late.count() << " s" << std::endl;
  Result<UngateRound> late = co_await UngateLatePods(client, clock, stopped + options.stored_late);
  if (!late) co_return late.error();
  failures = DescribeFailures(*late);
  if (!failures.empty()) co_return Error::DeadlineExceeded(failures);
  co_return Ok();
}

}  // namespace operator_

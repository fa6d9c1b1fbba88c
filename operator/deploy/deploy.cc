// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/deploy.h"

#include <iostream>
#include <optional>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/deploy/manifests.h"
#include "operator/objects/foreign_objects.h"
#include "operator/status/condition_of.h"

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
constexpr auto kReportEvery = 10s;

bool ConditionTrue(const Unstructured& object, std::string_view type) {
  const Json* condition = ConditionOf(object.body(), type);
  return condition != nullptr && kube::StringAt(*condition, "status") == "True";
}

// Whether the stored `object` is established, rolled out, or of a kind without such a state.
bool Ready(const Unstructured& object) {
  const Json& body = object.body();
  std::string kind = kube::StringAt(body, "kind");
  if (kind == "CustomResourceDefinition") return ConditionTrue(object, "Established");
  if (kind != "Deployment") return true;
  int64_t wanted = kube::IntAt(body, "spec.replicas", 1);
  return kube::IntAt(body, "status.observedGeneration") >= object.metadata().generation() &&
         kube::IntAt(body, "status.updatedReplicas") == wanted &&
         kube::IntAt(body, "status.availableReplicas") == wanted &&
         kube::IntAt(body, "status.replicas") == wanted;
}

// `object`, owned by the operator's namespace if it is outside of it. Not so the CRDs: their
// deletion would delete the users' configs.
Unstructured OwnedBy(const Unstructured& ns, const Resource& resource, const Unstructured& object) {
  if (resource.namespaced || resource.kind == "CustomResourceDefinition") return object;
  Json body = object.body();
  body["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                      {"kind", "Namespace"},
                                                      {"name", ns.metadata().name()},
                                                      {"uid", ns.metadata().uid()}}});
  return Unstructured(std::move(body));
}

// Why pods of a namespace do not run, one line each: "pod ns/x: ImagePullBackOff: ...".
Async<std::vector<std::string>> PodProblems(Client& client, std::string ns) {
  kube::ListOptions options{.ns = std::move(ns)};
  auto pods = co_await kube::ListObjects(client, kube::kPods, std::move(options));
  if (!pods) co_return pods.error();
  std::vector<std::string> problems;
  for (const Unstructured& pod : pods->items) {
    std::string name = "pod " + kube::KeyOf(pod).ToString() + ": ";
    for (const char* list : {"status.conditions", "status.containerStatuses"}) {
      const Json* entries = kube::Find(pod.body(), list);
      if (entries == nullptr || !entries->is_array()) continue;
      for (const Json& entry : *entries) {
        std::string reason = kube::StringAt(entry, "state.waiting.reason");
        std::string message = kube::StringAt(entry, "state.waiting.message");
        if (kube::StringAt(entry, "type") == "PodScheduled" &&
            kube::StringAt(entry, "status") == "False") {
          reason = kube::StringAt(entry, "reason");
          message = kube::StringAt(entry, "message");
        }
        if (!reason.empty()) problems.push_back(name + reason + ": " + message);
      }
    }
  }
  co_return problems;
}

Async<> AwaitReady(Client& client, Clock& clock, Unstructured object, Resource resource,
                   TimePoint deadline) {
  kube::ObjectKey key = kube::KeyOf(object);
  TimePoint report = clock.Now() + kReportEvery;
  while (true) {
    auto current = co_await kube::GetObject(client, resource, key);
    if (current && Ready(*current)) co_return Ok();
    if (clock.Now() >= deadline) {
      std::string reason;
      auto problems = co_await PodProblems(client, key.ns);
      if (problems && !key.ns.empty()) {
        for (const std::string& problem : *problems) reason += "\n  " + problem;
      }
      co_return Error::DeadlineExceeded(Describe(object) + " is not ready" + reason);
    }
    if (clock.Now() >= report) {
      std::cout << "  waiting for " << Describe(object) << std::endl;
      report = clock.Now() + kReportEvery;
    }
    auto slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

}  // namespace

Async<> Deploy(Client& client, Clock& clock, std::vector<Unstructured> objects,
               DeployOptions options) {
  TimePoint deadline = clock.Now() + options.timeout;
  std::optional<Unstructured> ns;
  for (const Unstructured& object : objects) {
    Result<Resource> resource = ResourceOfObject(object);
    if (!resource) co_return resource.error();
    // The Service of this name that the Go operator created selects that operator's pods.
    if (resource->kind == "Service") {
      Result<bool> removed = co_await RemoveForeign(client, *resource, kube::KeyOf(object));
      if (!removed) co_return removed.error();
      if (*removed)
        std::cout << "deleted " << Describe(object) << " of another operator" << std::endl;
    }
    kube::ApplyOptions as_deployer{.field_manager = "pod-placement-deploy"};
    Unstructured owned = ns ? OwnedBy(*ns, *resource, object) : object;
    auto applied =
        co_await kube::ApplyObject(client, *resource, std::move(owned), std::move(as_deployer));
    if (!applied) co_return applied.error().Prefix("apply " + Describe(object));
    std::cout << "applied " << Describe(object) << std::endl;
    if (resource->kind == "Namespace") ns = std::move(*applied);
  }
  for (const Unstructured& object : objects) {
    Result<Resource> resource = ResourceOfObject(object);
    if (!resource) co_return resource.error();
    auto ready = co_await AwaitReady(client, clock, object, *resource, deadline);
    if (!ready) co_return ready.error();
  }
  std::cout << "the operator is ready" << std::endl;
  co_return Ok();
}

}  // namespace operator_

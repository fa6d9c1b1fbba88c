// SPDX-License-Identifier: Apache-2.0
#include "deploy/install.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "deploy/manifests.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"

namespace deploy {
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

bool HasEntry(const Json& object, std::string_view list, std::string_view field,
              std::string_view value, std::string_view other, std::string_view wanted) {
  const Json& entries = kube::ListAt(object, list);
  return std::any_of(entries.begin(), entries.end(), [&](const Json& entry) {
    return kube::StringAt(entry, field) == value && kube::StringAt(entry, other) == wanted;
  });
}

// Whether the stored `object` is established, rolled out, or of a kind without such a state.
bool Ready(const Unstructured& object) {
  const Json& body = object.body();
  std::string kind = kube::StringAt(body, "kind");
  if (kind == "CustomResourceDefinition")
    return HasEntry(body, "status.conditions", "type", "Established", "status", "True");
  if (kind != "Deployment") return true;
  int64_t wanted = kube::IntAt(body, "spec.replicas", 1);
  return kube::IntAt(body, "status.observedGeneration") >= object.metadata().generation() &&
         kube::IntAt(body, "status.updatedReplicas") == wanted &&
         kube::IntAt(body, "status.availableReplicas") == wanted &&
         kube::IntAt(body, "status.replicas") == wanted;
}

// `object`, owned by the namespace if it is outside of it. CRDs have no owner: their deletion would
// delete the users' objects.
Unstructured OwnedBy(const Unstructured& ns, const Resource& resource, const Unstructured& object) {
  if (resource.namespaced || resource.kind == "CustomResourceDefinition") return object;
  Json body = object.body();
  body["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                      {"kind", "Namespace"},
                                                      {"name", ns.metadata().name()},
                                                      {"uid", ns.metadata().uid()}}});
  return Unstructured(std::move(body));
}

// Whether another tool has installed this CustomResourceDefinition.
Async<bool> IsForeignCrd(Client& client, Resource resource, kube::ObjectKey key) {
  if (resource.kind != "CustomResourceDefinition") co_return false;
  auto stored = co_await kube::GetObject(client, resource, std::move(key));
  if (IsNotFound(stored)) co_return false;
  if (!stored) co_return stored.error();
  co_return !HasEntry(stored->body(), "metadata.managedFields", "manager", kFieldManager,
                      "operation", "Apply");
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
      for (const Json& entry : kube::ListAt(pod.body(), list)) {
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

Async<> Install(Client& client, Clock& clock, std::vector<Unstructured> objects,
                InstallOptions options) {
  TimePoint deadline = clock.Now() + options.timeout;
  std::optional<Unstructured> ns;
  for (const Unstructured& object : objects) {
    Result<Resource> resource = ResourceOfObject(object);
    if (!resource) co_return resource.error();
    if (options.keep_foreign_crds) {
      Result<bool> foreign = co_await IsForeignCrd(client, *resource, kube::KeyOf(object));
      if (!foreign) co_return foreign.error().Prefix("read " + Describe(object));
      if (*foreign) {
        std::cout << "kept " << Describe(object) << ", which is there already" << std::endl;
        continue;
      }
    }
    kube::ApplyOptions as_deployer{.field_manager = std::string(kFieldManager)};
    Unstructured owned = ns ? OwnedBy(*ns, *resource, object) : object;
    auto applied =
        co_await kube::ApplyObject(client, *resource, std::move(owned), std::move(as_deployer));
    if (!applied) co_return applied.error().Prefix("apply " + Describe(object));
    std::cout << "applied " << Describe(object) << std::endl;
    if (resource->kind == "Namespace") ns = std::move(*applied);
  }
  if (!options.wait) co_return Ok();
  for (const Unstructured& object : objects) {
    Result<Resource> resource = ResourceOfObject(object);
    if (!resource) co_return resource.error();
    auto ready = co_await AwaitReady(client, clock, object, *resource, deadline);
    if (!ready) co_return ready.error();
  }
  co_return Ok();
}

Async<> Uninstall(Client& client, Clock& clock, std::vector<Unstructured> objects,
                  TimePoint deadline) {
  for (auto object = objects.rbegin(); object != objects.rend(); ++object) {
    Result<Resource> resource = ResourceOfObject(*object);
    if (!resource) co_return resource.error();
    auto deleted = co_await kube::DeleteObject(client, *resource, kube::KeyOf(*object));
    if (!deleted && !IsNotFound(deleted))
      co_return deleted.error().Prefix("delete " + Describe(*object));
    std::cout << "deleted " << Describe(*object) << std::endl;
  }
  for (const Unstructured& object : objects) {
    Result<Resource> resource = ResourceOfObject(object);
    if (!resource) co_return resource.error();
    auto awaited = co_await AwaitDeletion(client, clock, *resource, kube::KeyOf(object), deadline);
    if (!awaited) co_return awaited.error().Prefix(Describe(object));
  }
  co_return Ok();
}

Async<> AwaitDeletion(Client& client, Clock& clock, Resource resource, kube::ObjectKey key,
                      TimePoint deadline) {
  while (true) {
    auto current = co_await kube::GetObject(client, resource, key);
    if (IsNotFound(current)) co_return Ok();
    if (clock.Now() >= deadline) co_return Error::DeadlineExceeded("not deleted");
    auto slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

}  // namespace deploy

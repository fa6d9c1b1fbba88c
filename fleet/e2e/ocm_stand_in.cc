// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/ocm_stand_in.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Code;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

namespace {

constexpr auto kBetweenPasses = 20ms;
// Between what it reads and what it writes.
constexpr auto kBehind = 30ms;

// A toleration without key must have the operator Exists.
bool IsMisconfigured(const Json& placement) {
  const Json* tolerations = kube::Find(placement, "spec.tolerations");
  if (tolerations == nullptr || !tolerations->is_array()) return false;
  return std::any_of(tolerations->begin(), tolerations->end(), [](const Json& toleration) {
    return kube::StringAt(toleration, "key").empty() &&
           kube::StringAt(toleration, "operator") != "Exists";
  });
}

bool IsTainted(const Json& cluster) {
  const Json* taints = kube::Find(cluster, "spec.taints");
  return taints != nullptr && taints->is_array() && !taints->empty();
}

// Pages of 100; one if there is nothing.
std::vector<std::vector<std::string>> PagesOf(const std::vector<std::string>& clusters) {
  std::vector<std::vector<std::string>> pages(1);
  for (const std::string& cluster : clusters) {
    if (pages.back().size() == fleet::kDecisionsPerPage) pages.emplace_back();
    pages.back().push_back(cluster);
  }
  return pages;
}

std::string NameOf(const Json& placement, size_t number) {
  return kube::StringAt(placement, "metadata.name") + "-decision-" + std::to_string(number);
}

Json NewDecision(const Json& placement, size_t number) {
  std::string name = kube::StringAt(placement, "metadata.name");
  Json owner = {{"apiVersion", fleet::kPlacements.ApiVersion()},
                {"kind", std::string(fleet::kPlacements.kind)},
                {"name", name},
                {"uid", kube::StringAt(placement, "metadata.uid")},
                {"controller", true},
                {"blockOwnerDeletion", true}};
  Json decision = {{"apiVersion", fleet::kPlacementDecisions.ApiVersion()},
                   {"kind", std::string(fleet::kPlacementDecisions.kind)}};
  decision["metadata"] = {{"name", NameOf(placement, number)},
                          {"namespace", kube::StringAt(placement, "metadata.namespace")}};
  decision["metadata"]["labels"] = {{std::string(fleet::kPlacementLabel), name},
                                    {std::string(fleet::kDecisionGroupIndexLabel), "0"},
                                    {std::string(fleet::kDecisionGroupNameLabel), ""}};
  decision["metadata"]["ownerReferences"] = Json::array();
  decision["metadata"]["ownerReferences"].push_back(std::move(owner));
  return decision;
}

// Another client was first: the next pass reads what is there.
bool IsRace(const kube::Error& error) {
  return error.code() == Code::kConflict || error.code() == Code::kAlreadyExists ||
         error.code() == Code::kNotFound;
}

}  // namespace

bool OcmStandIn::Reconciles(const Json& placement) {
  const Json* annotations = kube::Find(placement, "metadata.annotations");
  if (annotations == nullptr || !annotations->is_object()) return true;
  auto disabled = annotations->find(std::string(fleet::kSchedulingDisableAnnotation));
  return disabled == annotations->end() || !disabled->is_string() ||
         disabled->get<std::string>() != "true";
}

boost::asio::awaitable<void> OcmStandIn::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> done = co_await Pass();
    if (FailedWith(done, Code::kCancelled)) co_return;
    if (done) ++passes_;
    Result<> slept = co_await clock_.Sleep(kBetweenPasses);
    if (!slept) co_return;
  }
}

Async<> OcmStandIn::Pass() {
  kube::ListOptions all;
  auto placements = co_await kube::ListObjects(client_, fleet::kPlacements, all);
  if (!placements) co_return placements.error();
  auto clusters = co_await kube::ListObjects(client_, fleet::kManagedClusters, all);
  if (!clusters) co_return clusters.error();
  std::vector<std::string> names;
  for (const Unstructured& cluster : clusters->items) {
    if (!IsTainted(cluster.body())) names.push_back(cluster.metadata().name());
  }
  std::sort(names.begin(), names.end());
  Result<> slept = co_await clock_.Sleep(kBehind);
  if (!slept) co_return slept.error();

  for (const Unstructured& placement : placements->items) {
    if (!Reconciles(placement.body())) continue;
    std::vector<Page> pages(1);
    if (!IsMisconfigured(placement.body())) pages = PagesOf(names);
    Json copy = placement.body();
    Result<> done = co_await Reconcile(std::move(copy), std::move(pages));
    if (!done && !IsRace(done.error())) co_return done.error();
  }
  co_return Ok();
}

Async<> OcmStandIn::Reconcile(Json placement, std::vector<Page> pages) {
  for (size_t i = 0; i < pages.size(); ++i) {
    Result<> written = co_await WritePage(placement, i + 1, std::move(pages[i]));
    if (!written) co_return written.error();
  }
  kube::ListOptions own;
  own.ns = kube::StringAt(placement, "metadata.namespace");
  own.label_selector =
      std::string(fleet::kPlacementLabel) + "=" + kube::StringAt(placement, "metadata.name");
  auto decisions = co_await kube::ListObjects(client_, fleet::kPlacementDecisions, own);
  if (!decisions) co_return decisions.error();
  for (const Unstructured& decision : decisions->items) {
    bool wanted = false;
    for (size_t i = 0; i < pages.size(); ++i)
      wanted = wanted || decision.metadata().name() == NameOf(placement, i + 1);
    if (wanted) continue;
    ObjectKey key = kube::KeyOf(decision);
    Result<> deleted =
        co_await kube::DeleteObject(client_, fleet::kPlacementDecisions, std::move(key));
    if (!deleted) co_return deleted.error();
  }
  co_return Ok();
}

Async<> OcmStandIn::WritePage(const Json& placement, size_t number, Page page) {
  ObjectKey key{kube::StringAt(placement, "metadata.namespace"), NameOf(placement, number)};
  auto stored = co_await kube::GetObject(client_, fleet::kPlacementDecisions, key);
  if (IsNotFound(stored)) {
    Unstructured object(NewDecision(placement, number));
    stored = co_await kube::CreateObject(client_, fleet::kPlacementDecisions, std::move(object));
  }
  if (!stored) co_return stored.error();
  std::vector<fleet::Decision> decisions;
  for (std::string& cluster : page) decisions.push_back({.cluster = std::move(cluster)});
  Result<fleet::PlacementDecision> now = fleet::PlacementDecision::FromJson(stored->body());
  if (!now) co_return now.error();
  if (now->has_status && now->decisions == decisions) co_return Ok();
  Json patch = {{"metadata", {{"resourceVersion", now->resource_version}}},
                {"status", {{"decisions", fleet::DecisionsToJson(decisions)}}}};
  std::string subresource = "status";
  auto written =
      co_await kube::PatchObject(client_, fleet::kPlacementDecisions, std::move(key),
                                 kube::kMergePatch, std::move(patch), std::move(subresource));
  if (!written) co_return written.error();
  co_return Ok();
}

}  // namespace e2e

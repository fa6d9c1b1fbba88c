// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_writer.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;
using Kind = DecisionWrite::Kind;

Json LabelsOf(const DecisionOwner& owner, const GroupLabels& group) {
  return {{std::string(kPlacementLabel), owner.placement.name},
          {std::string(kDecisionGroupIndexLabel), group.index},
          {std::string(kDecisionGroupNameLabel), group.name}};
}

Json OwnerReference(const DecisionOwner& owner) {
  return {{"apiVersion", kPlacements.ApiVersion()},
          {"kind", std::string(kPlacements.kind)},
          {"name", owner.placement.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

// `object`: as it is stored, or an empty one. An object can have only one controller.
Json OwnerReferences(const DecisionOwner& owner, const Json& object) {
  Json all = Json::array({OwnerReference(owner)});
  for (const Json& other : kube::ListAt(object, "metadata.ownerReferences")) {
    if (!kube::BoolAt(other, "controller") && kube::StringAt(other, "uid") != owner.uid)
      all.push_back(other);
  }
  return all;
}

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Makes the writes of one plan.
class Writer {
 public:
  Writer(kube::Client& client, const DecisionOwner& owner,
         std::map<std::string, std::string> versions, DecisionListener& listener)
      : client_(client), owner_(owner), versions_(std::move(versions)), listener_(listener) {}

  Async<> Write(const DecisionWrite& write) {
    if (write.kind == Kind::kCreate) co_return co_await Create(write);
    if (!versions_.contains(write.name))
      co_return kube::Error::Conflict("PlacementDecision " + write.name + " is not in the cache");
    if (write.kind == Kind::kLabels) co_return co_await SetLabels(write);
    if (write.kind == Kind::kDecisions) co_return co_await SetDecisions(write);
    co_return co_await Delete(write);
  }

 private:
  ObjectKey KeyOf(const DecisionWrite& write) const { return {owner_.placement.ns, write.name}; }

  Async<> Create(const DecisionWrite& write) {
    Json object = {{"apiVersion", kPlacementDecisions.ApiVersion()},
                   {"kind", std::string(kPlacementDecisions.kind)},
                   {"metadata",
                    {{"name", write.name},
                     {"namespace", owner_.placement.ns},
                     {"labels", LabelsOf(owner_, write.group)},
                     {"ownerReferences", OwnerReferences(owner_, Json::object())}}}};
    Unstructured decision(std::move(object));
    Result<Unstructured> created =
        co_await kube::CreateObject(client_, kPlacementDecisions, std::move(decision));
    if (FailedWith(created, kube::Code::kAlreadyExists))
      co_return kube::Error::Conflict("PlacementDecision " + write.name + " is not in the cache");
    if (!created) co_return created.error().Prefix("create PlacementDecision " + write.name);
    NoteStored(write, *created);
    co_return Ok();
  }

  // The other labels and owners are read first: the cache does not have them.
  Async<> SetLabels(const DecisionWrite& write) {
    ObjectKey key = KeyOf(write);
    Result<Unstructured> now = co_await kube::GetObject(client_, kPlacementDecisions, key);
    if (!now) co_return now.error().Prefix("read PlacementDecision " + write.name);
    if (now->metadata().resource_version() != versions_[write.name])
      co_return kube::Error::Conflict("PlacementDecision " + write.name + " has changed");
    Json patch = {{"metadata",
                   {{"labels", LabelsOf(owner_, write.group)},
                    {"ownerReferences", OwnerReferences(owner_, now->body())}}}};
    std::string subresource;
    co_return co_await Patch(write, std::move(patch), std::move(subresource));
  }

  Async<> SetDecisions(const DecisionWrite& write) {
    Json patch = {{"status", {{"decisions", DecisionsToJson(write.decisions)}}}};
    std::string subresource = "status";
    co_return co_await Patch(write, std::move(patch), std::move(subresource));
  }

  Async<> Patch(const DecisionWrite& write, Json patch, std::string subresource) {
    patch["metadata"]["resourceVersion"] = versions_[write.name];
    ObjectKey key = KeyOf(write);
    Result<Unstructured> written =
        co_await kube::PatchObject(client_, kPlacementDecisions, std::move(key), kube::kMergePatch,
                                   std::move(patch), std::move(subresource));
    if (!written) co_return written.error().Prefix("write PlacementDecision " + write.name);
    NoteStored(write, *written);
    co_return Ok();
  }

  Async<> Delete(const DecisionWrite& write) {
    kube::DeleteOptions options;
    options.resource_version = versions_[write.name];
    ObjectKey key = KeyOf(write);
    Result<> deleted = co_await kube::DeleteObject(client_, kPlacementDecisions, std::move(key),
                                                   std::move(options));
    if (!deleted && !IsNotFound(deleted))
      co_return deleted.error().Prefix("delete PlacementDecision " + write.name);
    listener_.OnDeleted(KeyOf(write));
    co_return Ok();
  }

  void NoteStored(const DecisionWrite& write, const Unstructured& object) {
    versions_[write.name] = object.metadata().resource_version();
    Result<PlacementDecision> stored = PlacementDecision::FromJson(object.body());
    if (stored) listener_.OnStored(*stored);
  }

  kube::Client& client_;
  const DecisionOwner& owner_;
  std::map<std::string, std::string> versions_;
  DecisionListener& listener_;
};

// Adds a write that was made.
void AddChange(const DecisionWrite& write, const std::set<std::string>& temporary,
               DecisionChanges& changes) {
  if (temporary.contains(write.name)) return;
  if (write.kind == Kind::kCreate) {
    changes.created.push_back(write.name);
  } else if (write.kind == Kind::kDelete) {
    changes.deleted.push_back(write.name);
  } else if (std::find(changes.created.begin(), changes.created.end(), write.name) ==
             changes.created.end()) {
    AddOnce(changes.updated, write.name);
  }
}

}  // namespace

Async<> WriteDecisions(kube::Client& client, DecisionOwner owner, std::vector<DecisionWrite> plan,
                       std::map<std::string, std::string> versions, DecisionListener& listener,
                       DecisionChanges& changes) {
  std::set<std::string> created;
  std::set<std::string> temporary;
  for (const DecisionWrite& write : plan) {
    if (write.kind == Kind::kCreate) created.insert(write.name);
    if (write.kind == Kind::kDelete && created.contains(write.name)) temporary.insert(write.name);
  }
  Writer writer(client, owner, std::move(versions), listener);
  for (const DecisionWrite& write : plan) {
    Result<> written = co_await writer.Write(write);
    if (!written) co_return written.error();
    AddChange(write, temporary, changes);
  }
  co_return Ok();
}

}  // namespace fleet

// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/binder.h"

#include <chrono>
#include <optional>

#include "kube/types/kinds.h"
#include "kube/types/list_at.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

bool IsBindable(const Json& pod) {
  if (!kube::ListAt(pod, "spec.schedulingGates").empty() ||
      !kube::StringAt(pod, "spec.nodeName").empty() ||
      kube::Find(pod, "metadata.deletionTimestamp") != nullptr)
    return false;
  for (const Json& owner : kube::ListAt(pod, "metadata.ownerReferences")) {
    if (kube::StringAt(owner, "kind") == "Deployment") return false;
  }
  return true;
}

}  // namespace

Binder::Binder(Loop& loop, kube::FakeStore& store, Random random)
    : loop_(loop), random_(random), scheduler_(store, "system:kube-scheduler") {}

void Binder::OnCommit(const kube::StoreCommit& commit) {
  if (commit.collection != kube::kPods.Path() || !commit.after || !IsBindable(*commit.after) ||
      !due_.insert(commit.key).second)
    return;
  loop_.At(loop_.now() + random_.Between(500ms, 5s), [this, key = commit.key] { Bind(key); });
}

void Binder::Bind(const kube::ObjectKey& key) {
  due_.erase(key);
  std::optional<Json> pod = scheduler_.GetJson(kube::kPods, key);
  if (!pod || !IsBindable(*pod)) return;
  scheduler_.PatchJson(kube::kPods, key,
                       {{"spec", {{"nodeName", "node"}}}, {"status", {{"phase", "Running"}}}});
}

}  // namespace sim

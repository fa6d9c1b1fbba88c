// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/deployments.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "sim/base/process_clock.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::ObjectKey;

constexpr char kReplicaSetController[] = "system:serviceaccount:kube-system:replicaset-controller";
constexpr kube::Duration kTick = 500ms;
// terminationGracePeriodSeconds.
constexpr kube::Duration kGrace = 30s;
constexpr kube::Duration kCreateAgain = 5s;
constexpr kube::Duration kLongestBackoff = 5min;

std::string HashOf(const Json& deployment) {
  const Json* pod = kube::Find(deployment, "spec.template");
  return std::to_string(std::hash<std::string>()(kube::DumpJson(*pod)) % 1'000'000'000);
}

int ReplicasOf(const Json& deployment) {
  return static_cast<int>(kube::IntAt(deployment, "spec.replicas", 1));
}

bool IsOfDeployment(const Json& pod) {
  const Json* owners = kube::Find(pod, "metadata.ownerReferences");
  return owners != nullptr && !owners->empty() &&
         kube::StringAt((*owners)[0], "kind") == "Deployment";
}

Json PodOf(const ObjectKey& key, const ObjectKey& deployment, const Json& stored) {
  Json pod = *kube::Find(stored, "spec.template");
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = key.name;
  pod["metadata"]["namespace"] = key.ns;
  pod["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "apps/v1"},
                    {"kind", "Deployment"},
                    {"name", deployment.name},
                    {"uid", kube::StringAt(stored, "metadata.uid")},
                    {"controller", true}}});
  return pod;
}

}  // namespace

Deployments::Deployments(Loop& loop, ApiServer& server, kube::FakeStore& store,
                         const SecretFiles& files, Random random, NewProcess new_process)
    : loop_(loop),
      server_(server),
      files_(files),
      random_(random),
      new_process_(std::move(new_process)),
      controller_(store, "system:serviceaccount:kube-system:deployment-controller") {
  loop_.At(loop_.now() + kTick, [this] { Tick(); });
}

void Deployments::OnCommit(const kube::StoreCommit& commit) {
  if (commit.collection == kube::kDeployments.Path()) {
    deployments_[commit.key].stored = commit.after;
  } else if (commit.collection == kube::kPods.Path()) {
    if (commit.after && IsOfDeployment(*commit.after)) {
      stored_pods_.insert_or_assign(commit.key, commit.after);
    } else {
      stored_pods_.erase(commit.key);
    }
  }
}

std::vector<Process*> Deployments::Processes() const {
  std::vector<Process*> processes;
  for (const auto& [key, deployment] : deployments_) {
    for (const Pod& pod : deployment.pods) {
      if (pod.process != nullptr) processes.push_back(pod.process);
    }
  }
  return processes;
}

void Deployments::Tick() {
  for (auto& [key, deployment] : deployments_) Sync(key, deployment);
  std::erase_if(deployments_, [](const auto& entry) {
    return entry.second.stored == nullptr && entry.second.pods.empty();
  });
  loop_.At(loop_.now() + kTick, [this] { Tick(); });
}

void Deployments::Sync(const ObjectKey& key, Deployment& deployment) {
  for (auto pod = deployment.pods.begin(); pod != deployment.pods.end();)
    pod = Advance(*pod) ? std::next(pod) : deployment.pods.erase(pod);
  if (deployment.stored == nullptr) {
    for (Pod& pod : deployment.pods) Stop(pod);
    return;
  }
  if (deployment.hashed != deployment.stored) {
    std::string hash = HashOf(*deployment.stored);
    if (deployment.template_hash != hash) deployment.template_since = loop_.now();
    deployment.template_hash = std::move(hash);
    deployment.hashed = deployment.stored;
  }
  Scale(key, deployment);
  Report(deployment);
}

bool Deployments::Advance(Pod& pod) {
  if (pod.phase == Phase::kCreating) return true;
  auto stored = stored_pods_.find(pod.plan.key);
  const bool deleted = stored == stored_pods_.end();
  if (deleted && pod.phase != Phase::kStopping) Stop(pod);
  switch (pod.phase) {
    case Phase::kCreating:
      break;
    case Phase::kPending:
      if (loop_.now() >= pod.due && CanStart(pod)) Run(pod);
      break;
    case Phase::kRunning:
      if (pod.process->life() != nullptr) {
        if (loop_.now() >= pod.due) SetReady(pod, true);
      } else if (pod.ready || loop_.now() < pod.due) {
        // The container has ended: it starts again after a while.
        if (pod.ready) {
          kube::Duration backoff =
              std::min<kube::Duration>(1s * (1 << std::min(pod.restarts, 8)), kLongestBackoff);
          pod.due = loop_.now() + backoff;
          ++pod.restarts;
        }
        SetReady(pod, false);
      } else {
        pod.process->Start();
        pod.due = loop_.now() + random_.Between(1s, 3s);
      }
      break;
    case Phase::kStopping:
      if (pod.process != nullptr && pod.process->life() != nullptr && loop_.now() < pod.due)
        return true;
      if (pod.process != nullptr) pod.process->Kill();
      if (!deleted) controller_.DeleteJson(kube::kPods, pod.plan.key);
      return false;
  }
  return true;
}

bool Deployments::CanStart(const Pod& pod) const {
  const Json& stored = *stored_pods_.at(pod.plan.key);
  const Json* gates = kube::Find(stored, "spec.schedulingGates");
  if (gates != nullptr && !gates->empty()) return false;
  const Json* volumes = kube::Find(stored, "spec.volumes");
  if (volumes == nullptr) return true;
  return std::all_of(volumes->begin(), volumes->end(), [&](const Json& volume) {
    std::string secret = kube::StringAt(volume, "secret.secretName");
    return secret.empty() || files_.Exists({pod.plan.key.ns, secret});
  });
}

void Deployments::Run(Pod& pod) {
  controller_.PatchJson(kube::kPods, pod.plan.key,
                        {{"spec", {{"nodeName", "node"}}}, {"status", {{"phase", "Running"}}}});
  pod.process = &new_process_(pod.plan);
  pod.process->Start();
  pod.phase = Phase::kRunning;
  pod.due = loop_.now() + random_.Between(1s, 3s);
}

void Deployments::Stop(Pod& pod) {
  if (pod.phase == Phase::kStopping || pod.phase == Phase::kCreating) return;
  if (pod.process != nullptr) pod.process->Stop();
  pod.phase = Phase::kStopping;
  pod.ready = false;
  pod.due = loop_.now() + kGrace;
}

void Deployments::SetReady(Pod& pod, bool ready) {
  if (pod.ready == ready) return;
  pod.ready = ready;
  Json condition = {{"type", "Ready"}, {"status", ready ? "True" : "False"}};
  controller_.PatchJson(kube::kPods, pod.plan.key,
                        {{"status", {{"conditions", Json::array({std::move(condition)})}}}});
}

void Deployments::Scale(const ObjectKey& key, Deployment& deployment) {
  const int replicas = ReplicasOf(*deployment.stored);
  int fresh = 0, ready = 0, all = 0;
  for (const Pod& pod : deployment.pods) {
    if (pod.phase == Phase::kStopping) continue;
    ++all;
    ready += pod.ready;
    fresh += pod.template_hash == deployment.template_hash;
  }
  // One more than wanted while the template changes.
  if (fresh < replicas && all <= replicas && loop_.now() >= deployment.retry)
    return Create(key, deployment);
  for (Pod& pod : deployment.pods) {
    if (pod.phase == Phase::kStopping) continue;
    const bool old = pod.template_hash != deployment.template_hash;
    // An old one is replaced once there is another.
    const bool surplus = old ? !pod.ready || ready > replicas || replicas == 0 : fresh > replicas;
    if (!surplus) continue;
    if (pod.ready) --ready;
    if (!old) --fresh;
    Stop(pod);
  }
}

void Deployments::Create(const ObjectKey& key, Deployment& deployment) {
  const std::string& hash = deployment.template_hash;
  ObjectKey name{key.ns, key.name + "-" + hash + "-" + std::to_string(++last_pod_)};
  Json pod = PodOf(name, key, *deployment.stored);
  deployment.pods.push_back(
      {.plan = {.key = name, .deployment = key.name, .spec = pod["spec"]}, .template_hash = hash});
  server_.Carry(kReplicaSetController,
                {.method = kube::Method::kPost,
                 .target = kube::kPods.Path(key.ns),
                 .content_type = std::string(kube::kJson),
                 .body = kube::DumpJson(pod)},
                [this, key, name](const kube::Result<kube::ApiResponse>& answer) {
                  Created(key, name, answer);
                });
}

void Deployments::Created(const ObjectKey& key, const ObjectKey& name,
                          const kube::Result<kube::ApiResponse>& answer) {
  Deployment& deployment = deployments_.at(key);
  auto pod = std::find_if(deployment.pods.begin(), deployment.pods.end(),
                          [&name](const Pod& pod) { return pod.plan.key == name; });
  // A lost reply may have had its effect.
  if (stored_pods_.contains(name)) {
    deployment.failure.clear();
    pod->phase = Phase::kPending;
    pod->due = loop_.now() + random_.Between(100ms, 2s);
    return;
  }
  deployment.pods.erase(pod);
  deployment.failure = answer ? "deleted at once" : answer.error().message();
  deployment.retry = loop_.now() + kCreateAgain;
}

void Deployments::Report(Deployment& deployment) {
  DeploymentState state{.failure = deployment.failure, .since = deployment.template_since};
  for (const Pod& pod : deployment.pods) {
    if (pod.phase == Phase::kCreating || pod.phase == Phase::kStopping) continue;
    ++state.replicas;
    state.ready += pod.ready;
    state.updated += pod.template_hash == deployment.template_hash;
  }
  // A rollout that does not end is reported after a while.
  const bool at_rest = state.ready == ReplicasOf(*deployment.stored);
  if (at_rest && state == deployment.state && deployment.reported == deployment.stored) return;
  deployment.state = state;
  deployment.reported = deployment.stored;
  Json status = StatusOf(*deployment.stored, state, loop_.now());
  if (deployment.stored->value("status", Json()) == status) return;
  Json changed = *deployment.stored;
  changed["status"] = std::move(status);
  controller_.UpdateJson(kube::kDeployments, changed);
}

}  // namespace sim

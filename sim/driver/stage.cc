// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/stage.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "api/names.h"
#include "kube/types/kinds.h"
#include "sim/driver/images.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::Result;

constexpr char kUser[] = "ann";
constexpr char kOperatorNamespace[] = "operator";
constexpr kube::Duration kTick = 1s;
// What a broken request may cause, it causes within this time.
constexpr checker::Time kAftermath = 60s;

Json NodeOf(const std::string& architecture) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", "node-" + architecture},
            {"labels", {{std::string(api::kArchLabel), architecture}}}}}};
}

checker::Image ImageOf(const std::set<std::string>& architectures) {
  checker::Image image;
  for (const std::string& architecture : architectures)
    image.platforms.push_back({"linux", architecture});
  return image;
}

bool RunsAll(const Json& deployment) {
  const int64_t wanted = kube::IntAt(deployment, "spec.replicas", 1);
  return kube::IntAt(deployment, "status.availableReplicas") >= wanted &&
         kube::IntAt(deployment, "status.updatedReplicas") >= wanted;
}

}  // namespace

Stage::Stage(const Plan& plan, const Tell& tell)
    : cluster_(plan.seed, {.operators = plan.operators,
                           .ns = kOperatorNamespace,
                           .observer =
                               [this, tell](World& world, const kube::StoreCommit& commit) {
                                 const checker::Time at = world.loop().now() - Loop::kBegin;
                                 if (tell) tell(DescribeCommit(commit, at));
                                 feed_.Add(commit, at);
                               }}),
      binder_(world().loop(), world().store(), world().random().Fork()) {
  world().store().Observe([this](const kube::StoreCommit& commit) { binder_.OnCommit(commit); });
  world().api_server().OnWritten([this](const std::string& process, uint64_t version) {
    // "PROGRAM/NAMESPACE/POD"
    feed_.checker().Wrote(version, process.substr(process.rfind('/') + 1));
  });
  facts_.undisturbed_since = now();
  facts_.operator_namespace = kOperatorNamespace;
  world().SetGuard([this](const kube::AdmissionAttributes& asked) { return Admit(asked); });
  for (const char* architecture : {"amd64", "arm64"})
    world().admin().CreateJson(kube::kNodes, NodeOf(architecture));
  for (const auto& [name, architectures] : Images()) SetImage(name, architectures);
  SetImage(kPrivateImage, {"amd64", "s390x"});
  world().registries().MakePrivate(kPrivateHost);
  Tick();
}

void Stage::SetImage(const std::string& name, const std::set<std::string>& architectures) {
  if (architectures.empty()) {
    world().registries().Remove(name);
    facts_.images.SetPlatforms(name, now(), std::nullopt);
  } else {
    world().registries().Set(name, architectures);
    facts_.images.SetPlatforms(name, now(), ImageOf(architectures));
  }
}

void Stage::SetMood(const std::string& host, Registries::Mood mood) {
  world().registries().SetMood(host, mood);
  facts_.images.SetRegistry(
      host, now(),
      mood == Registries::Mood::kAnswers ? checker::Registry::kAnswers : checker::Registry::kFails);
}

void Stage::Call(kube::ApiRequest request, Answer then) {
  world().api_server().Carry(
      kUser, std::move(request),
      [this, then = std::move(then)](const Result<kube::ApiResponse>& answer) {
        ++(answer ? accepted_ : refused_);
        if (then) then(answer);
      });
}

void Stage::Create(const kube::Resource& resource, const Json& object, Answer then) {
  Call({.method = kube::Method::kPost,
        .target = resource.Path(kube::StringAt(object, "metadata.namespace")),
        .content_type = std::string(kube::kJson),
        .body = kube::DumpJson(object)},
       std::move(then));
}

void Stage::Set(const kube::Resource& resource, Json object) {
  kube::ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                      kube::StringAt(object, "metadata.name")};
  std::optional<Json> stored = world().admin().GetJson(resource, key);
  if (!stored) return Create(resource, object);
  (*stored)["spec"] = std::move(object["spec"]);
  (*stored)["metadata"].erase("resourceVersion");
  Call({.method = kube::Method::kPut,
        .target = resource.Path(key.ns, key.name),
        .content_type = std::string(kube::kJson),
        .body = kube::DumpJson(*stored)});
}

void Stage::Patch(const kube::Resource& resource, const kube::ObjectKey& key, const Json& patch,
                  Answer then) {
  Call({.method = kube::Method::kPatch,
        .target = resource.Path(key.ns, key.name),
        .content_type = std::string(kube::kMergePatch),
        .body = kube::DumpJson(patch)},
       std::move(then));
}

void Stage::Delete(const kube::Resource& resource, const kube::ObjectKey& key) {
  Call({.method = kube::Method::kDelete, .target = resource.Path(key.ns, key.name)});
}

Process* Stage::Pick(std::string_view of, size_t pick, bool leader) {
  std::vector<Process*> processes = cluster_.Processes(of);
  if (processes.empty()) return nullptr;
  Process* picked = processes[pick % processes.size()];
  if (!leader) return picked;
  // "PROGRAM/NAMESPACE/POD"
  const std::string& name = picked->name();
  const size_t pod = name.rfind('/');
  const std::string replicas = name.substr(0, pod + 1);
  const std::string ns = name.substr(name.find('/') + 1, pod - name.find('/') - 1);
  for (const kube::Json& lease : world().admin().ListJson(kube::kLeases, ns)) {
    const std::string holder = replicas + kube::StringAt(lease, "spec.holderIdentity");
    for (Process* process : processes) {
      if (process->name() == holder) return process;
    }
  }
  return picked;
}

void Stage::Break(kube::Duration length, std::function<void()> end) {
  facts_.calm_since = facts_.undisturbed_since = checker::Time::max();
  disturbed_ = now();
  if (!faults_told_) {
    facts_.secret_faults.Begin(now());
    facts_.announcement_faults.Begin(now());
    faults_told_ = true;
  }
  Add(length, std::move(end), true);
}

void Stage::Change(kube::Duration length, std::function<void()> end) {
  Add(length, std::move(end), false);
}

void Stage::Refuse(kube::Duration length, Refusal refusal) {
  refusals_.emplace(last_id_ + 1, std::move(refusal));
  Break(length, [this, id = last_id_ + 1] { refusals_.erase(id); });
}

void Stage::Add(kube::Duration length, std::function<void()> end, bool disturbs) {
  const int id = ++last_id_;
  broken_.emplace(id, Broken{std::move(end), disturbs});
  world().loop().At(world().loop().now() + length, [this, id] { End(id); });
}

void Stage::End(int id) {
  auto found = broken_.find(id);
  if (found == broken_.end()) return;
  Broken ended = std::move(found->second);
  broken_.erase(found);
  if (ended.disturbs) disturbed_ = now();
  ended.end();
}

void Stage::Uninstall() {
  uninstalled_ = true;
  facts_.calm_since = checker::Time::max();
  Delete(kube::kNamespaces, {"", kOperatorNamespace});
}

void Stage::Heal() {
  while (!broken_.empty()) End(broken_.begin()->first);
}

Result<void> Stage::Admit(const kube::AdmissionAttributes& asked) {
  for (const auto& [id, refusal] : refusals_) {
    Result<void> allowed = refusal(asked);
    if (allowed) continue;
    if (asked.collection == kube::kPods.Path() && asked.operation == "UPDATE" && !asked.dry_run)
      facts_.refusals.Add(asked.caller.user, asked.key, now());
    return allowed;
  }
  feed_.Asked(asked);
  return kube::Ok();
}

void Stage::Tick() {
  const bool broken = std::any_of(broken_.begin(), broken_.end(),
                                  [](const auto& one) { return one.second.disturbs; });
  const bool calm = EveryProgramRuns() && !broken && !uninstalled_;
  if (calm && !IsCalm()) facts_.calm_since = now();
  if (!calm) facts_.calm_since = checker::Time::max();
  const bool undisturbed = !broken && !uninstalled_ && !upgraded_;
  if (!undisturbed) facts_.undisturbed_since = checker::Time::max();
  if (undisturbed && facts_.undisturbed_since == checker::Time::max())
    facts_.undisturbed_since = now();
  if (faults_told_ && !broken && now() - disturbed_ > kAftermath) {
    facts_.secret_faults.End(now());
    facts_.announcement_faults.End(now());
    faults_told_ = false;
  }
  world().loop().At(world().loop().now() + kTick, [this] { Tick(); });
}

bool Stage::EveryProgramRuns() {
  std::vector<Process*> processes = cluster_.Processes("");
  bool all = std::all_of(processes.begin(), processes.end(),
                         [](Process* process) { return process->life() != nullptr; });
  for (Process* process : seen_) {
    const bool ended = process->life() == nullptr ||
                       std::find(processes.begin(), processes.end(), process) == processes.end();
    if (ended && process->name().starts_with("cluster-controller/"))
      facts_.controller_ends.push_back(now());
  }
  seen_ = std::move(processes);
  for (const auto& [key, deployment] : feed_.deployments()) all = all && RunsAll(*deployment);
  return all;
}

std::string Stage::DescribeMissing() const {
  std::string text;
  for (const auto& [key, deployment] : feed_.deployments()) {
    if (!RunsAll(*deployment)) text += (text.empty() ? "" : ", ") + key.ToString();
  }
  return text;
}

}  // namespace sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/world/cluster.h"

#include <chrono>
#include <memory>
#include <utility>

#include "api/names.h"
#include "kube/types/kinds.h"
#include "sim/programs/operands.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::Result;

// What the operator's manifests have.
Json ConvertedCrd() {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "clusterpodplacementconfigs.multiarch.openshift.io"}}},
          {"spec", {{"scope", "Cluster"}}}};
}

Json OwnService(const std::string& ns) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", std::string(api::kOperatorServiceName)}, {"namespace", ns}}}};
}

Json OwnDeployment(const ClusterOptions& options) {
  constexpr char kName[] = "multiarch-tuning-operator";
  Json container = {{"name", "operator"}, {"image", "r.io/operator:1"}};
  Json pod = {{"serviceAccountName", kName}, {"containers", Json::array({std::move(container)})}};
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", kName}, {"namespace", options.ns}}},
          {"spec",
           {{"replicas", options.operators},
            {"template", {{"metadata", {{"labels", {{"app", kName}}}}}, {"spec", pod}}}}}};
}

}  // namespace

Cluster::Cluster(uint64_t seed, ClusterOptions options)
    : options_(std::move(options)),
      world_(seed),
      deployments_(world_.loop(), world_.api_server(), world_.store(), world_.secret_files(),
                   world_.random().Fork(),
                   [this](const PodPlan& pod) -> Process& {
                     return world_.AddProcess(
                         IdentityOf(pod), MainOf(pod, {world_.registries(), world_.secret_files(),
                                                       world_.services()}));
                   }),
      collector_(world_.loop(), world_.store(), world_.random().Fork()) {
  world_.store().Observe([this](const kube::StoreCommit& commit) {
    if (options_.observer) options_.observer(world_, commit);
    deployments_.OnCommit(commit);
    collector_.OnCommit(commit);
  });
  world_.CreateNamespaces({options_.ns});
  world_.admin().CreateJson(kube::kCustomResourceDefinitions, ConvertedCrd());
  world_.admin().CreateJson(kube::kServices, OwnService(options_.ns));
  world_.admin().CreateJson(kube::kDeployments, OwnDeployment(options_));
}

std::vector<Process*> Cluster::Processes(std::string_view prefix) const {
  std::vector<Process*> processes = deployments_.Processes();
  std::erase_if(processes,
                [prefix](const Process* process) { return !process->name().starts_with(prefix); });
  return processes;
}

Result<kube::ApiResponse> Cluster::Call(const std::string& user, kube::ApiRequest request) {
  auto answer = std::make_shared<std::optional<Result<kube::ApiResponse>>>();
  const std::string target = request.target;
  world_.api_server().Carry(user, std::move(request),
                            [answer](Result<kube::ApiResponse> got) { *answer = std::move(got); });
  for (kube::Duration passed{}; passed < 1min && !*answer; passed += 10ms) world_.Pass(10ms);
  if (!*answer) return kube::Error::DeadlineExceeded(target);
  return std::move(**answer);
}

Result<kube::ApiResponse> Cluster::Create(const std::string& user, const kube::Resource& resource,
                                          const Json& object) {
  return Call(user, {.method = kube::Method::kPost,
                     .target = resource.Path(kube::StringAt(object, "metadata.namespace")),
                     .content_type = std::string(kube::kJson),
                     .body = kube::DumpJson(object)});
}

}  // namespace sim

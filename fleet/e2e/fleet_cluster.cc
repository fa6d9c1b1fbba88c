// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/fleet_cluster.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "e2e/cluster_harness/own_network.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/testing/make_object.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/read_file.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

namespace {

constexpr char kName[] = "fleet-cluster";
constexpr auto kPoll = 20ms;
constexpr auto kStopTimeout = 30s;
// Longer than any test or benchmark.
constexpr int kTokenSeconds = 24 * 3600;

// The kinds of the files that are applied.
constexpr Resource kApplied[] = {
    kube::kNamespaces,  kube::kClusterRoles,        kube::kCustomResourceDefinitions,
    fleet::kPlacements, fleet::kFleetPodPlacements, fleet::kManagedClusterSetBindings};

std::string NameOf(const Json& object) {
  ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                kube::StringAt(object, "metadata.name")};
  return kube::StringAt(object, "kind") + " " + key.ToString();
}

Result<std::vector<Json>> ReadObjects(const std::string& path) {
  Result<std::string> text = kube::ReadFile(path);
  if (!text) return text.error();
  Result<std::vector<Json>> objects = kube::ParseYamlDocuments(*text);
  if (!objects) return objects.error().Prefix(path);
  return objects;
}

// The paths at which the API server serves the kind of a CRD.
std::vector<std::string> ServedAt(const Json& crd) {
  std::string group = kube::StringAt(crd, "spec.group");
  std::string plural = kube::StringAt(crd, "spec.names.plural");
  std::vector<std::string> paths;
  for (const Json& version : *kube::Find(crd, "spec.versions")) {
    std::string name = kube::StringAt(version, "name");
    if (kube::BoolAt(version, "served"))
      paths.push_back(Resource{group, name, plural, ""}.Path() + "?limit=1");
  }
  return paths;
}

}  // namespace

Result<std::unique_ptr<FleetCluster>> FleetCluster::Launch(
    ControlPlaneOptions options, std::shared_ptr<boost::asio::io_context> io) {
  Result<> network = EnterOwnNetwork();
  if (!network) return network.error();
  std::string folder = options.folder;
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec) return Error::Unavailable("create " + folder + ": " + ec.message());
  auto plane = ControlPlane::Start(std::move(options));
  if (!plane) return plane.error();
  auto config = kube::LoadKubeconfig((*plane)->admin_kubeconfig());
  if (!config) return config.error();
  auto client =
      kube::NewClient(io->get_executor(), kube::RealClock(), *config, {.user_agent = kName});
  if (!client) return client.error();
  Options cluster_options{.tier = Tier::kIntegration,
                          .registry = "",
                          .operator_namespace = kNamespace,
                          .connection = *config,
                          // Enough for a busy machine; conditions usually hold within a second.
                          .timeout = 120s};
  return std::unique_ptr<FleetCluster>(new FleetCluster(std::move(io), std::move(*client),
                                                        std::move(cluster_options),
                                                        std::move(*plane), std::move(folder)));
}

Result<> FleetCluster::Serve(const std::vector<std::string>& crds, Wait wait) {
  if (!wait)
    wait = [this](const std::string& what, const Holds& holds) { return Await(what, holds); };
  Result<> ready = wait("the API server answers at " + plane_->url(), [this] {
    return Answers("/readyz") && Answers(kube::kNamespaces.Path("", "default"));
  });
  if (!ready) return ready;
  std::vector<std::string> paths;
  for (const std::string& folder : crds) {
    std::error_code ec;
    for (const auto& file : std::filesystem::directory_iterator(folder, ec)) {
      if (file.path().filename() == "kustomization.yaml") continue;
      Result<std::vector<Json>> objects = ReadObjects(file.path());
      if (!objects) return objects.error();
      for (Json& crd : *objects) {
        for (std::string& path : ServedAt(crd)) paths.push_back(std::move(path));
        Result<> applied = Apply(std::move(crd));
        if (!applied) return applied;
      }
    }
    if (ec) return Error::NotFound(folder + ": " + ec.message());
  }
  return wait("the CRDs are served", [&] {
    std::erase_if(paths, [this](const std::string& path) { return Answers(path); });
    return paths.empty();
  });
}

Result<std::unique_ptr<FleetCluster>> FleetCluster::Start(ControlPlaneOptions options,
                                                          const std::vector<std::string>& crds) {
  auto cluster = Launch(std::move(options), std::make_shared<boost::asio::io_context>(1));
  if (!cluster) return cluster.error();
  Result<> serves = (*cluster)->Serve(crds);
  if (!serves) return serves.error();
  return cluster;
}

bool FleetCluster::Answers(const std::string& target) {
  kube::ApiRequest request{.target = target, .accept = "*/*", .timeout = 2s};
  return Run(client().Call(std::move(request))).has_value();
}

Result<> FleetCluster::Await(const std::string& what, const Holds& holds) {
  for (auto deadline = clock().Now() + timeout(); !holds();) {
    Result<> running = AllRun();
    if (!running) return running.error().Prefix("while waiting for: " + what);
    if (clock().Now() > deadline) return Error::DeadlineExceeded("timed out waiting for: " + what);
    Result<> slept = Run(clock().Sleep(kPoll));
    if (!slept) return slept;
  }
  return Ok();
}

Result<> FleetCluster::Create(const Resource& resource, Json object) {
  std::string name = NameOf(object);
  auto created = Run(kube::CreateObject(client(), resource, Unstructured(std::move(object))));
  if (!created) return created.error().Prefix("create " + name);
  return Ok();
}

Result<> FleetCluster::Patch(const Resource& resource, ObjectKey key, Json patch,
                             std::string subresource) {
  auto patched = Run(kube::PatchObject(client(), resource, key, kube::kMergePatch, std::move(patch),
                                       std::move(subresource)));
  if (!patched) return patched.error().Prefix("patch " + key.ToString());
  return Ok();
}

Result<> FleetCluster::Apply(Json object) {
  std::string name = NameOf(object);
  auto resource = std::find_if(
      std::begin(kApplied), std::end(kApplied),
      [&](const Resource& known) { return known.kind == kube::StringAt(object, "kind"); });
  if (resource == std::end(kApplied)) return Error::Invalid("of an unknown kind: " + name);
  kube::ApplyOptions options{.field_manager = kName};
  auto applied = Run(
      kube::ApplyObject(client(), *resource, Unstructured(std::move(object)), std::move(options)));
  if (!applied) return applied.error().Prefix("apply " + name);
  return Ok();
}

Result<> FleetCluster::ApplyFile(const std::string& path) {
  Result<std::vector<Json>> objects = ReadObjects(path);
  if (!objects) return objects.error();
  for (Json& object : *objects) {
    Result<> applied = Apply(std::move(object));
    if (!applied) return applied.error().Prefix(path);
  }
  return Ok();
}

Result<std::string> FleetCluster::KubeconfigOf(const std::string& account, const std::string& ns) {
  Json wanted = {{"apiVersion", "authentication.k8s.io/v1"},
                 {"kind", "TokenRequest"},
                 {"spec", {{"expirationSeconds", kTokenSeconds}}}};
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kServiceAccounts.Path(ns, account, "token"),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(wanted)};
  auto answer = Run(client().Call(std::move(request)));
  if (!answer) return answer.error().Prefix("token of " + account);
  Result<Json> token = kube::ParseJson(answer->body);
  if (!token) return token.error();
  std::string path = folder_ + "/" + ns + "." + account;
  Result<> written = WriteFile(path + ".token", kube::StringAt(*token, "status.token"));
  if (written) written = plane_->WriteKubeconfig(path + ".kubeconfig", path + ".token");
  if (!written) return written.error();
  return path + ".kubeconfig";
}

Result<std::string> FleetCluster::NewAdmin(const std::string& account) {
  Result<> created = Create(kube::kNamespaces, fleet::MakeNamespace(kNamespace));
  if (!created && !FailedWith(created, kube::Code::kAlreadyExists)) return created.error();
  created = Create(kube::kServiceAccounts,
                   fleet::MakeObject(kube::kServiceAccounts, kNamespace, account));
  if (!created) return created.error();
  Json role = {{"apiGroup", "rbac.authorization.k8s.io"},
               {"kind", "ClusterRole"},
               {"name", "cluster-admin"}};
  Json subject = {{"kind", "ServiceAccount"}, {"name", account}, {"namespace", kNamespace}};
  created =
      Create(kube::kClusterRoleBindings, fleet::MakeObject(kube::kClusterRoleBindings, "", account)
                                             .Set("/roleRef", role)
                                             .Set("/subjects", Json::array({subject})));
  if (!created) return created.error();
  return KubeconfigOf(account, kNamespace);
}

Result<> FleetCluster::StartProgram(const std::string& name, const std::string& path,
                                    std::vector<std::string> args) {
  programs_.erase(name);
  auto program = ChildProcess::Start(
      {.path = path, .args = std::move(args), .log_file = folder_ + "/" + name + ".log"});
  if (!program) return program.error().Prefix("start " + path);
  programs_[name] = std::move(*program);
  return Ok();
}

Result<> FleetCluster::StartHub(const std::string& kubeconfig, const std::string& ns,
                                std::vector<std::string> args) {
  args.insert(args.begin(), {"--kubeconfig=" + kubeconfig, "--namespace=" + ns,
                             "--health-address=" + plane_->host() + ":8080",
                             "--cel-evaluator=fleet/cel/evaluator/evaluator"});
  return StartProgram("hub", "fleet/hub/hub", std::move(args));
}

Result<> FleetCluster::StartAgent(const std::string& member, const std::string& hub_kubeconfig,
                                  const std::string& kubeconfig, const std::string& ns,
                                  std::vector<std::string> args) {
  args.insert(args.begin(), {"--cluster=" + member, "--hub-kubeconfig=" + hub_kubeconfig,
                             "--kubeconfig=" + kubeconfig, "--namespace=" + ns,
                             "--health-address=" + plane_->host() + ":0"});
  return StartProgram("agent", "fleet/agent/agent", std::move(args));
}

Result<> FleetCluster::StopProgram(const std::string& name) {
  ChildProcess* program = Program(name);
  if (program == nullptr) return Ok();
  program->Signal(SIGTERM);
  for (auto deadline = clock().Now() + kStopTimeout; !program->ExitStatus(); Pause(kPoll)) {
    if (clock().Now() > deadline) {
      return Error::DeadlineExceeded("the " + name + " does not end after SIGTERM: " + LogOf(name));
    }
  }
  KillProgram(name);
  return Ok();
}

ChildProcess* FleetCluster::Program(const std::string& name) {
  auto found = programs_.find(name);
  return found == programs_.end() ? nullptr : found->second.get();
}

Result<> FleetCluster::Runs(const std::string& name) {
  ChildProcess* program = Program(name);
  if (program == nullptr) return Error::Unavailable("the " + name + " was not started");
  std::optional<int> status = program->ExitStatus();
  if (!status) return Ok();
  return Error::Unavailable("the " + name + " ended with status " + std::to_string(*status) + ": " +
                            LogOf(name));
}

Result<> FleetCluster::AllRun() {
  Result<> running = plane_->RestartControllers();
  if (running) running = plane_->AllRun();
  for (auto program = programs_.begin(); running && program != programs_.end(); ++program)
    running = Runs(program->first);
  return running;
}

std::string FleetCluster::LogOf(const std::string& name, size_t bytes) const {
  return TailOfFile(folder_ + "/" + name + ".log", bytes);
}

std::string FleetCluster::Logs() const {
  std::string logs;
  for (const auto& [name, program] : programs_) logs += "\n" + name + ":\n" + LogOf(name);
  return logs;
}

Result<> FleetCluster::Crash(ObjectKey pod) {
  return Error::NotFound("no pod " + pod.ToString() + " runs on a hub");
}

}  // namespace e2e

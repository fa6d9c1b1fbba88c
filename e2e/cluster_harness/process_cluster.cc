// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/process_cluster.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/names.h"
#include "deploy/manifests.h"
#include "e2e/cluster_harness/await_api_server.h"
#include "e2e/cluster_harness/nodes.h"
#include "e2e/framework/resources.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "operator/deploy/deploy.h"
#include "operator/deploy/manifests.h"
#include "operator/deploy/undeploy.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;

namespace {

// The image of a program. It is never pulled: the process kubelet uses its name only.
std::string ImageOf(const std::string& program, Release release) {
  return "integration.test/pod-placement/" + program + ":" + ProcessCluster::TagOf(release);
}

struct ShippedProgram {
  const char* name;
  const char* path;  // in the runfiles
  bool old = true;   // the old release has it, too
};
constexpr ShippedProgram kPrograms[] = {
    {"operator", "operator/operator"},
    {"webhook", "webhook/webhook"},
    {"shard", "shard/shard"},
    {"cluster-controller", "cluster-controller/cluster-controller"},
    {"exec-format-monitor", "exec-format/monitor/monitor", /*old=*/false}};

// "" for that of this source tree.
std::string OldPrograms() {
  const char* folder = std::getenv("OLD_PROGRAMS");
  return folder == nullptr ? "" : folder;
}

std::map<std::string, std::string> Programs() {
  std::map<std::string, std::string> programs;
  // Paths in the runfiles, which are the working directory of a test.
  std::string old = OldPrograms().empty() ? "e2e/old_release" : OldPrograms();
  for (const ShippedProgram& program : kPrograms) {
    std::string name = program.name;
    programs[name] = program.path;
    if (program.old) programs[name + ":" + ProcessCluster::TagOf(Release::kOld)] = old + "/" + name;
  }
  return programs;
}

Result<std::vector<kube::Unstructured>> ReadManifests(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error::NotFound("cannot read " + file);
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(text.str());
  if (!documents) return documents.error().Prefix(file);
  std::vector<kube::Unstructured> objects;
  for (Json& document : *documents) objects.emplace_back(std::move(document));
  return objects;
}

}  // namespace

ProcessCluster::ProcessCluster(std::unique_ptr<boost::asio::io_context> io,
                               std::unique_ptr<kube::Client> client, Options options,
                               std::unique_ptr<ControlPlane> plane,
                               std::unique_ptr<TestRegistry> registry)
    : Cluster(std::move(io), std::move(client), std::move(options)),
      plane_(std::move(plane)),
      test_registry_(std::move(registry)),
      audit_(operator_namespace()),
      tasks_(this->io().get_executor()) {}

ProcessCluster::~ProcessCluster() {
  kube::IgnoreError(Run(tasks_.Stop(clock(), 10s)), "the cluster ends");
}

Result<std::unique_ptr<ProcessCluster>> ProcessCluster::Start(ControlPlaneOptions plane_options) {
  const std::string folder = plane_options.folder;
  const bool audit = plane_options.audit;
  auto plane = ControlPlane::Start(std::move(plane_options));
  if (!plane) return plane.error();
  auto registry = TestRegistry::Start(folder);
  if (!registry) return registry.error();
  auto config = kube::LoadKubeconfig((*plane)->admin_kubeconfig());
  if (!config) return config.error();
  auto io = std::make_unique<boost::asio::io_context>(1);
  auto client = kube::NewClient(io->get_executor(), kube::RealClock(), *config,
                                {.user_agent = "integration-test", .max_connections = 256});
  if (!client) return client.error();

  Options options{.tier = Tier::kIntegration,
                  .registry = TestRegistry::address(),
                  .operator_namespace = std::string(api::kDefaultOperatorNamespace),
                  .connection = *config,
                  // Enough for a busy machine; conditions usually hold within a second.
                  .timeout = 60s};
  std::unique_ptr<ProcessCluster> cluster(new ProcessCluster(std::move(io), std::move(*client),
                                                             std::move(options), std::move(*plane),
                                                             std::move(*registry)));
  Result<> ready = cluster->AwaitApiServer();
  if (!ready) return ready.error();
  Result<> nodes = cluster->CreateNodes();
  if (!nodes) return nodes.error();
  cluster->kubelet_ = std::make_unique<ProcessKubelet>(
      cluster->client(), cluster->clock(), cluster->io().get_executor(), *cluster->plane_,
      ProcessKubelet::Options{.programs = Programs(), .folder = folder + "/pods"});
  cluster->tasks_.Spawn("process-kubelet", cluster->kubelet_->Run());
  if (audit) cluster->FollowRoles();
  return cluster;
}

Result<> ProcessCluster::KillApiServer() {
  Result<> settled = AwaitNoDeletedNamespace();
  return settled ? plane_->KillApiServer() : settled;
}

Result<> ProcessCluster::AwaitNoDeletedNamespace() {
  auto deadline = clock().Now() + timeout();
  while (true) {
    auto namespaces = Run(kube::ListObjects(client(), kNamespaces, kube::ListOptions()));
    if (!namespaces) return namespaces.error();
    auto deleted = std::find_if(
        namespaces->items.begin(), namespaces->items.end(),
        [](const kube::Unstructured& ns) { return ns.metadata().has_deletion_timestamp(); });
    if (deleted == namespaces->items.end()) return Ok();
    if (clock().Now() > deadline)
      return Error::DeadlineExceeded("namespace " + deleted->metadata().name() + " still exists");
    Pause(100ms);
  }
}

Result<> ProcessCluster::AwaitApiServer() { return e2e::AwaitApiServer(*this, *plane_); }

Result<> ProcessCluster::CreateNodes() {
  for (const Json& node : NodesOfEveryArchitecture()) {
    auto created = Run(kube::CreateObject(client(), kNodes, kube::Unstructured(node)));
    if (!created) return created.error().Prefix("create a node");
  }
  return Ok();
}

Result<std::vector<kube::Unstructured>> ProcessCluster::Manifests(Release release) const {
  if (release == Release::kOld && !OldPrograms().empty())
    return ReadManifests(OldPrograms() + "/install.yaml");
  deploy::ManifestOptions manifests{.ns = operator_namespace(), .images = {}, .components = {}};
  for (const ShippedProgram& program : kPrograms)
    manifests.images[program.name] = ImageOf(program.name, release);
  return operator_::LoadManifests(manifests);
}

Result<> ProcessCluster::DeployOperator(Release release) {
  auto objects = Manifests(release);
  if (!objects) return objects.error();
  operator_::DeployOptions options{.timeout = timeout()};
  return Run(operator_::Deploy(client(), clock(), std::move(*objects), options));
}

Result<> ProcessCluster::UndeployOperator() {
  auto objects = Manifests();
  if (!objects) return objects.error();
  // The API server here is not slow, and flows need not wait for a minute.
  operator_::UndeployOptions options{.stored_late = std::chrono::seconds(2)};
  return Run(operator_::Undeploy(client(), clock(), std::move(*objects), options));
}

Result<> ProcessCluster::DeleteManifests() {
  auto objects = Manifests();
  if (!objects) return objects.error();
  for (const kube::Unstructured& object : *objects) {
    auto resource = deploy::ResourceOfObject(object);
    if (!resource) return resource.error();
    auto deleted = Run(kube::DeleteObject(client(), *resource, kube::KeyOf(object)));
    if (!deleted && !IsNotFound(deleted)) return deleted.error();
  }
  return Ok();
}

std::set<std::string> ProcessCluster::ManifestNames() {
  std::set<std::string> names;
  auto objects = Manifests();
  if (!objects) return names;
  for (const kube::Unstructured& object : *objects) {
    names.insert(kube::StringAt(object.body(), "kind") + " " + kube::KeyOf(object).ToString());
  }
  return names;
}

void ProcessCluster::FollowRoles() {
  for (const Resource& resource : {kRoles, kClusterRoles, kRoleBindings, kClusterRoleBindings}) {
    bool binding = resource.kind.ends_with("Binding");
    auto add = [this, resource, binding](const std::string&, const Json& object) {
      Json complete = object;
      complete["kind"] = std::string(resource.kind);  // a list leaves it out
      if (binding) {
        audit_.AddBinding(complete);
      } else {
        audit_.AddRole(complete);
      }
    };
    kube::ListOptions options{.label_selector =
                                  "app.kubernetes.io/managed-by=multiarch-tuning-operator"};
    role_followers_.push_back(
        std::make_unique<Follower>(client(), clock(), resource, std::move(options), add));
    tasks_.Spawn("roles", role_followers_.back()->Run());
  }
}

Result<RbacAudit> ProcessCluster::ReadAudit() {
  Pause(500ms);  // for the followers
  RbacAudit audit = audit_;
  std::ifstream log(plane_->audit_log());
  for (std::string line; std::getline(log, line);) {
    // Of other users, there are only the writes for recordings, which are long.
    if (line.find("\"username\":\"system:serviceaccount:") == std::string::npos) continue;
    Result<Json> event = kube::ParseJson(line);
    // An incomplete line, from a crash of the API server.
    if (!event) continue;
    audit.AddRequest(*event);
  }
  return audit;
}

Result<> ProcessCluster::Crash(ObjectKey pod) {
  PodProcess* process = kubelet_->Find(pod);
  if (process == nullptr) return Error::NotFound("no process for pod " + pod.ToString());
  process->Crash();
  return Ok();
}

std::string ProcessCluster::Describe(const std::string& ns) {
  return kubelet_->Describe(ns) + kubelet_->Describe(operator_namespace());
}

ProcessCluster& TheProcessCluster() { return static_cast<ProcessCluster&>(TheCluster()); }

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// The demo of `make demo`: creates two configs and six Deployments with images (in REGISTRY) of
// different architectures on the cluster of KUBECONFIG, where the operator is deployed, and prints
// the steps of each pod. If the cluster has a node with an architecture taint and the plugin for
// scheduling policies, a Deployment is added: a PodSchedulingPolicy sends its pod to that node, and
// it must tolerate the taint.
// OWN_IMAGE names an index of the operator's own image in REGISTRY, and adds a Deployment of it.
// Exits with 1 if a pod is on a node that its image does not support or that its policy does not
// want, or if an invariant was violated.
#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <vector>

#include "api/names.h"
#include "e2e/demo/pod_story.h"
#include "e2e/framework/conditions.h"
#include "e2e/framework/given_cluster.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "e2e/framework/rules.h"
#include "e2e/framework/scene.h"
#include "kube/client/typed.h"
#include "plugin/pod/why_pod.h"
#include "plugin/read/read_pod.h"
#include "scheduling-policies/scheduling_policy.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::IsNotFound;
using kube::Ok;
using kube::Result;

constexpr const char* kNamespace = "demo";
constexpr const char* kRegistriesName = "demo-registries";
// The value of the label `pool`, and the name of the policy for pods with it.
constexpr const char* kPool = "tainted-arm64";

struct Workload {
  const char* name;
  const char* tier;
  const char* image;
  int replicas;
  // Its pods belong to kPool.
  bool pool = false;
};

// `pool`: with the one of kPool.
std::vector<Workload> Workloads(bool pool) {
  std::vector<Workload> workloads = {
      {"shop", "web", "demo/multi:1", 2},      {"search", "web", "demo/arm64-amd64:1", 2},
      {"reports", "batch", "demo/multi:1", 2}, {"ledger", "batch", "demo/ppc64le-s390x:1", 2},
      {"legacy", "web", "demo/amd64:1", 1},    {"mainframe", "batch", "demo/s390x:1", 1},
  };
  // One replica: it is preferred on arm64, a node of kwok, and needs no certificates there.
  if (const char* own = std::getenv("OWN_IMAGE"))
    workloads.push_back({"own-webhook", "web", own, 1});
  if (pool) workloads.push_back({"arm-pool", "web", "demo/multi:1", 1, /*pool=*/true});
  return workloads;
}

void Title(const std::string& text) { std::cout << "\n== " << text << std::endl; }

int PodsOf(const std::vector<Workload>& workloads) {
  int pods = 0;
  for (const Workload& workload : workloads) pods += workload.replicas;
  return pods;
}

// Deletes the namespace that an earlier demo left. A namespace `demo` of other origin is an error.
Result<> DeleteEarlierDemo(Cluster& cluster) {
  kube::ObjectKey key{"", kNamespace};
  auto found = cluster.Run(kube::GetObject(cluster.client(), kNamespaces, key));
  if (IsNotFound(found)) return Ok();
  if (!found) return found.error();
  if (LabelOf(found->body(), kSceneLabel).empty()) {
    return Error::AlreadyExists("namespace demo exists and was not created by this program");
  }
  std::cout << "deleting the namespace of an earlier demo" << std::endl;
  auto deleted = cluster.Run(kube::DeleteObject(cluster.client(), kNamespaces, key));
  auto deadline = cluster.clock().Now() + cluster.timeout();
  while (!IsNotFound(cluster.Run(kube::GetObject(cluster.client(), kNamespaces, key)))) {
    if (cluster.clock().Now() > deadline)
      return Error::DeadlineExceeded("namespace demo is not deleted");
    cluster.Pause(100ms);
  }
  return Ok();
}

// Creates the ClusterPodPlacementConfig unless it exists: an existing one is not changed. Returns:
// whether it has the plugin for scheduling policies.
Result<bool> EnsureClusterConfig(Scene& scene) {
  constexpr char kEnabled[] = "spec.plugins.schedulingPolicies.enabled";
  Result<Json> found = scene.Get(kClusterConfigs, std::string(api::kClusterConfigName));
  if (found) {
    std::cout << "ClusterPodPlacementConfig cluster: exists" << std::endl;
    return kube::BoolAt(*found, kEnabled);
  }
  Json registries = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  registries["metadata"] = {{"name", kRegistriesName},
                            {"namespace", scene.cluster().operator_namespace()}};
  registries["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + scene.cluster().registry() + "\"\ninsecure = true\n";
  auto applied = scene.cluster().Run(kube::ApplyObject(scene.cluster().client(), kConfigMaps,
                                                       kube::Unstructured(std::move(registries)),
                                                       {std::string(api::kFieldManager)}));
  if (!applied) return applied.error();
  Json config = MakeClusterConfig()
                    .Set("/spec/registriesConfigMapRef/name", kRegistriesName)
                    .Set("/spec/plugins/schedulingPolicies/enabled", true)
                    .Build();
  Result<Json> created = scene.Create(kClusterConfigs, config);
  if (!created) return created.error();
  std::cout << "ClusterPodPlacementConfig cluster: created" << std::endl;
  return true;
}

Result<> Await(Scene& scene, const Condition& condition) {
  auto start = scene.cluster().clock().Now();
  Result<> holds = condition.holds(scene);
  while (!holds) {
    if (scene.cluster().clock().Now() > start + scene.cluster().timeout()) {
      return holds.error().Prefix("timed out waiting for: " + condition.name);
    }
    scene.cluster().Pause(50ms);
    holds = condition.holds(scene);
  }
  std::chrono::duration<double> took = scene.cluster().clock().Now() - start;
  std::cout << condition.name << " (after " << std::fixed << std::setprecision(1) << took.count()
            << " s)" << std::endl;
  return Ok();
}

Result<> CreateConfigs(Scene& scene) {
  for (const ConfigBuilder& config :
       {MakeConfig("prefer-arm64")
            .Priority(100)
            .ForLabel("tier", "web")
            .Prefer("arm64", 100)
            .Set("/spec/plugins/architectureTolerations/enabled", true),
        MakeConfig("prefer-ppc64le").Priority(10).Prefer("ppc64le", 10)}) {
    Result<Json> created = scene.Create(kConfigs, config.Build());
    if (!created) return created.error();
    const Json* selector = kube::Find(config.Build(), "spec.labelSelector");
    std::cout << "PodPlacementConfig " << kube::StringAt(*created, "metadata.name") << ": priority "
              << kube::IntAt(*created, "spec.priority") << ", for pods with "
              << kube::DumpJson(*selector) << std::endl;
  }
  return Await(scene, ShardReady());
}

// Pods with the label of the pool run on `node`.
Result<> CreatePolicy(Scene& scene, const std::string& node) {
  const kube::Resource& kind = policy::kPodSchedulingPolicies;
  Json policy = {{"apiVersion", kind.ApiVersion()}, {"kind", std::string(kind.kind)}};
  policy["metadata"]["name"] = kPool;
  policy["spec"]["podSelector"]["matchLabels"]["pool"] = kPool;
  policy["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node;
  Result<Json> created = scene.Create(kind, policy);
  if (!created) return created.error();
  std::cout << "PodSchedulingPolicy " << kPool << ": pods with the label pool=" << kPool
            << " run on node " << node << std::endl;
  return Await(scene, HasStatusCondition(kind, kPool, std::string(policy::kReady), "True"));
}

Result<> CreateWorkloads(Scene& scene, const std::vector<Workload>& workloads) {
  for (const Workload& workload : workloads) {
    PodBuilder pod =
        MakePod("").Label("tier", workload.tier).Image(scene.cluster().Image(workload.image));
    if (workload.pool) pod.Label("pool", kPool);
    Result<Json> created = scene.Create(
        kDeployments, MakeDeployment(workload.name, pod).Replicas(workload.replicas).Build());
    if (!created) return created.error();
  }
  return Ok();
}

// node -> architecture
std::map<std::string, std::string> NodeArchitectures(Scene& scene) {
  std::map<std::string, std::string> architectures;
  Result<std::vector<Json>> nodes = scene.List(kNodes);
  for (const Json& node : nodes ? *nodes : std::vector<Json>()) {
    architectures[kube::StringAt(node, "metadata.name")] =
        LabelOf(node, std::string(api::kArchLabel));
  }
  return architectures;
}

// Prints the new steps of every pod.
class StepPrinter {
 public:
  explicit StepPrinter(std::map<std::string, std::string> node_architectures)
      : node_architectures_(std::move(node_architectures)) {}

  // Returns the number of pods that are on a node.
  int PrintNew(const PodWatcher& pods) {
    int bound = 0;
    for (const PodHistory* pod : pods.All()) {
      if (IsOperand(pod->last())) continue;
      size_t& printed = printed_[kube::StringAt(pod->last(), "metadata.uid")];
      for (; printed < pod->events.size(); ++printed) Print(*pod, printed);
      bound += NodeOf(pod->last()).empty() ? 0 : 1;
    }
    return bound;
  }

 private:
  void Print(const PodHistory& pod, size_t index) {
    static const Json kNothing;
    const Json& before = index == 0 ? kNothing : pod.events[index - 1].pod;
    std::chrono::duration<double> age = pod.events[index].seen - pod.events[0].seen;
    for (const std::string& step :
         StepsBetween(before, pod.events[index].pod, node_architectures_)) {
      std::cout << "  +" << std::fixed << std::setprecision(3) << age.count() << "s  " << std::left
                << std::setw(32) << pod.name << step << std::endl;
    }
  }

  std::map<std::string, std::string> node_architectures_;
  std::map<std::string, size_t> printed_;  // by uid
};

// Prints the table. True if every pod is on a supported node, those of the pool are on `pool_node`,
// and no invariant was violated.
bool PrintVerdicts(Scene& scene, const std::string& pool_node) {
  std::map<std::string, std::string> architectures = NodeArchitectures(scene);
  std::vector<Json> pods;
  for (const PodHistory* pod : scene.pods().All()) {
    if (!IsOperand(pod->last())) pods.push_back(pod->last());
  }
  bool all_good = true;
  std::cout << std::left << std::setw(32) << "POD" << std::setw(30) << "REQUIRES" << std::setw(26)
            << "PREFERS" << std::setw(10) << "NODE"
            << "VERDICT" << std::endl;
  for (const Json& pod : pods) {
    std::string landed = architectures[NodeOf(pod)];
    Verdict verdict = VerdictOn(pod, pods, architectures);
    if (LabelOf(pod, "pool") == kPool && NodeOf(pod) != pool_node)
      verdict = {.good = false, .text = "WRONG: not on the node of its policy"};
    all_good = all_good && verdict.good;
    std::cout << std::setw(32) << kube::StringAt(pod, "metadata.name") << std::setw(30)
              << RequirementText(pod) << std::setw(26) << PreferencesText(pod) << std::setw(10)
              << (landed.empty() ? "none" : landed) << verdict.text << std::endl;
  }
  for (const PodRule& rule : {ClusterGateRemovedBeforeLocal(), GateRemovedWithoutItsDecision()}) {
    for (const PodHistory* pod : scene.pods().All()) {
      Result<> kept = IsOperand(pod->last()) ? Ok() : rule.kept(*pod);
      if (kept) continue;
      all_good = false;
      std::cout << pod->name << ": WRONG: " << rule.name << ": " << kept.error() << std::endl;
    }
  }
  return all_good;
}

// What the plugin of kubectl says about one of the pods.
Result<> PrintWhy(Scene& scene) {
  std::string pod;
  for (const PodHistory* each : scene.pods().All()) {
    if (!IsOperand(each->last())) pod = each->name;
  }
  Title("kubectl placement why pod " + pod);
  Cluster& cluster = scene.cluster();
  auto evidence =
      cluster.Run(plugin::ReadPod(cluster.client(), cluster.clock(), {scene.ns(), pod}));
  if (!evidence) return evidence.error();
  std::cout << plugin::WhyPod(*evidence);
  return Ok();
}

void PrintHints() {
  Title("to try next");
  for (const char* line : {
           "kubectl get podplacementconfigs --namespace demo",
           "kubectl get clusterpodplacementconfig cluster -o yaml",
           "kubectl get pods --namespace demo -o wide -L kubernetes.io/arch",
           "kubectl get events --namespace demo --field-selector source=multiarch-tuning-operator",
           "bazel run --run_under=$PWD/e2e/cluster/with-cluster.sh //plugin -- why deployment shop "
           "-n demo",
           "kubectl delete podplacementconfigs --all --namespace demo   # deletes the shard as "
           "well",
           "kubectl delete namespace demo",
       }) {
    std::cout << "  " << line << std::endl;
  }
  std::cout << "  (on the cluster of `make cluster`: e2e/cluster/with-cluster.sh kubectl ...)"
            << std::endl;
}

Result<bool> RunDemo(Cluster& cluster) {
  Result<> cleared = DeleteEarlierDemo(cluster);
  if (!cleared) return cleared.error();
  auto opened = Scene::Open(cluster, kNamespace);
  if (!opened) return opened.error();
  Scene& scene = **opened;
  scene.KeepNamespace();

  Title("configuration");
  Result<bool> policies = EnsureClusterConfig(scene);
  if (!policies) return policies.error();
  Result<> done = Await(scene, ClusterConfigReady());
  if (done) done = CreateConfigs(scene);
  if (!done) return done.error();

  Title("nodes");
  Result<std::vector<Json>> nodes = scene.List(kNodes);
  if (!nodes) return nodes.error();
  const std::string tainted = TaintedNodeOf(*nodes);
  for (const auto& [node, architecture] : NodeArchitectures(scene)) {
    std::cout << "  " << std::left << std::setw(36) << node << architecture
              << (node == tainted ? ", with a taint of its architecture" : "") << std::endl;
  }
  const bool pool = *policies && !tainted.empty();
  if (pool) done = CreatePolicy(scene, tainted);
  if (!done) return done.error();
  std::vector<Workload> workloads = Workloads(pool);

  Title("steps of each pod, in seconds since its creation");
  done = CreateWorkloads(scene, workloads);
  if (!done) return done.error();
  StepPrinter steps(NodeArchitectures(scene));
  auto deadline = cluster.clock().Now() + cluster.timeout();
  while (steps.PrintNew(scene.pods()) < PodsOf(workloads) && cluster.clock().Now() < deadline)
    cluster.Pause(20ms);

  Title("nodes of the pods");
  bool good = PrintVerdicts(scene, tainted);
  if (!good) std::cout << "\n" << scene.Describe("") << std::endl;
  done = PrintWhy(scene);
  if (!done) return done.error();
  PrintHints();
  return good;
}

}  // namespace
}  // namespace e2e

int main() {
  auto cluster = e2e::OpenGivenCluster("demo");
  if (!cluster) {
    std::cerr << "demo: " << cluster.error() << std::endl;
    return 2;
  }
  kube::Result<bool> good = e2e::RunDemo(**cluster);
  if (!good) {
    std::cerr << "demo: " << good.error() << std::endl;
    return 1;
  }
  std::cout << (*good ? "\nAll pods are on nodes that their images support."
                      : "\nNot all pods are on nodes that their images support.")
            << std::endl;
  return *good ? 0 : 1;
}

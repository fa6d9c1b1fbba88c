// SPDX-License-Identifier: Apache-2.0
// Karpenter beside the operator, with its provider for tests, whose nodes kwok drives: it adds no
// node for a gated pod, and nodes of the right architecture for released ones; preferences do not
// keep it from removing nodes.
#include <chrono>
#include <iostream>
#include <memory>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/neighbours/neighbour.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr Resource kNodePools{"karpenter.sh", "v1", "nodepools", "NodePool", false};
constexpr Resource kNodeClaims{"karpenter.sh", "v1", "nodeclaims", "NodeClaim", false};
constexpr Resource kNodeClasses{"karpenter.kwok.sh", "v1alpha1", "kwoknodeclasses", "KWOKNodeClass",
                                false};
// Nodes of a pool have it, so pods with this selector run on no other nodes.
const std::string kPoolLabel = "karpenter.sh/nodepool";
// Karpenter waits for this long for more pods before it adds a node.
constexpr auto kBatch = 1s;

struct Processes {
  std::unique_ptr<ChildProcess> kwok;
  std::unique_ptr<ChildProcess> karpenter;
};

Result<> StartKarpenter(Processes& processes) {
  Result<> crds = ApplyCrds(AssetOf("karpenter-crds.yaml"));
  if (!crds) return crds.error();
  Cluster& cluster = TheCluster();
  Json node_class = {{"apiVersion", "karpenter.kwok.sh/v1alpha1"},
                     {"kind", "KWOKNodeClass"},
                     {"metadata", {{"name", "default"}}}};
  auto created = cluster.Run(kube::CreateObject(cluster.client(), kNodeClasses,
                                                kube::Unstructured(std::move(node_class))));
  if (!created) return created.error();
  const std::string kubeconfig = TheProcessCluster().control_plane().admin_kubeconfig();
  auto kwok = ChildProcess::Start(
      {.path = AssetOf("kwok"),
       .args = {"--kubeconfig=" + kubeconfig, "--config=" + AssetOf("kwok-stages.yaml"),
                "--manage-all-nodes=false",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                "--node-ip=127.0.0.1"},
       .log_file = LogOf("kwok")});
  if (!kwok) return kwok.error();
  processes.kwok = std::move(*kwok);
  auto karpenter = ChildProcess::Start({.path = AssetOf("karpenter"),
                                        .env = {{"KUBECONFIG", kubeconfig},
                                                {"SYSTEM_NAMESPACE", "kube-system"},
                                                {"KUBERNETES_MIN_VERSION", "1.19.0-0"},
                                                {"KARPENTER_SERVICE", "karpenter"},
                                                {"DISABLE_LEADER_ELECTION", "true"},
                                                {"METRICS_PORT", "18080"},
                                                {"HEALTH_PROBE_PORT", "18081"}},
                                        .log_file = LogOf("karpenter")});
  if (!karpenter) return karpenter.error();
  processes.karpenter = std::move(*karpenter);
  return Ok();
}

class KarpenterFlow : public FlowFixture {
 protected:
  static void SetUpTestSuite() {
    if (AssetOf("karpenter").empty() || processes_.karpenter != nullptr) return;
    Result<> started = StartKarpenter(processes_);
    ASSERT_TRUE(started) << started.error();
  }
  void SetUp() override {
    if (AssetOf("karpenter").empty()) {
      GTEST_SKIP() << "KUBEBUILDER_ASSETS has no karpenter: `e2e/cluster/build-tools.sh karpenter` "
                      "builds it";
    }
    FlowFixture::SetUp();
  }
  void TearDown() override {
    if (HasFailure())
      std::cout << "log of Karpenter: " << TailOfFile(LogOf("karpenter"), 8000) << std::endl;
    // Its nodes go with it.
    if (pool_) kube::IgnoreError(scene().Delete(kNodePools, scene().ns()), "the end");
    FlowFixture::TearDown();
  }

  // The scene's NodePool, for nodes of these architectures.
  Step CreatePool(std::vector<std::string> architectures) {
    pool_ = true;
    auto in = [](const std::string& key, std::vector<std::string> values) {
      return Json({{"key", key}, {"operator", "In"}, {"values", std::move(values)}});
    };
    Json node = {{"nodeClassRef",
                  {{"group", "karpenter.kwok.sh"}, {"kind", "KWOKNodeClass"}, {"name", "default"}}},
                 {"expireAfter", "Never"}};
    node["requirements"] =
        Json::array({in(std::string(api::kArchLabel), std::move(architectures)),
                     in("kubernetes.io/os", {"linux"}), in("karpenter.sh/capacity-type", {"spot"}),
                     in("karpenter.kwok.sh/instance-cpu", {"4"})});
    Json spec = {{"template", {{"spec", std::move(node)}}},
                 {"disruption",
                  {{"consolidationPolicy", "WhenEmptyOrUnderutilized"},
                   {"consolidateAfter", "0s"},
                   {"budgets", Json::array({{{"nodes", "100%"}}})}}}};
    return Create(kNodePools, {{"apiVersion", "karpenter.sh/v1"},
                               {"kind", "NodePool"},
                               {"metadata", {{"name", scene().ns()}}},
                               {"spec", std::move(spec)}});
  }
  PodBuilder Pod(const std::string& name, const std::string& image) {
    return MakePod(name).Image(Image(image)).NodeSelector(kPoolLabel, scene().ns());
  }

  std::string OfPool() { return kPoolLabel + "=" + scene().ns(); }
  Condition HasNodeClaims(size_t count) {
    return {std::to_string(count) + " NodeClaims", [this, count](Scene& scene) -> Result<> {
              auto claims = scene.List(kNodeClaims, OfPool());
              if (!claims) return claims.error();
              if (claims->size() == count) return Ok();
              return Error::NotFound(std::to_string(claims->size()) + " NodeClaims");
            }};
  }
  // Every NodeClaim of the pool allows these architectures alone.
  Condition ClaimsAreFor(std::vector<std::string> architectures) {
    return {"NodeClaims are for the architectures",
            [this, architectures](Scene& scene) -> Result<> {
              auto claims = scene.List(kNodeClaims, OfPool());
              if (!claims) return claims.error();
              for (const Json& claim : *claims) {
                for (const Json& requirement : kube::ListAt(claim, "spec.requirements")) {
                  if (requirement["key"] == std::string(api::kArchLabel) &&
                      requirement["values"] != Json(architectures)) {
                    return Error::Invalid(kube::DumpJson(requirement));
                  }
                }
              }
              return claims->empty() ? Result<>(Error::NotFound("a NodeClaim")) : Ok();
            }};
  }

  static inline Processes processes_;
  bool pool_ = false;
};

TEST_F(KarpenterFlow, AGatedPodGetsNoNode) {
  // The gate stays for longer than the flow looks at it.
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "60s"));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "a pod waits for its image")
      .Do(CreatePool({"amd64", "arm64"}))
      .Do(Create(Pod("waiting", "demo/missing:1")))
      .Await(ClusterGated("waiting"))
      .Stays(HasNodeClaims(0), 5 * kBatch)
      .Check(ClusterGated("waiting"))
      // Karpenter does work: another pod gets its node, and the gated one still none.
      .Do(Create(Pod("web", "demo/arm64:1")))
      .Await(Requires("web", {"arm64"}))
      .Await(HasNodeClaims(1))
      .Check(ClaimsAreFor({"arm64"}))
      .Await(ScheduledOn("web", {"arm64"}));
}

TEST_F(KarpenterFlow, APreferenceChoosesTheNodeOrIsRelaxed) {
  // No node has room for two of them.
  auto large = [&](const std::string& name) {
    return Pod(name, "demo/multi:1").Set("/spec/containers/0/resources/requests/cpu", "3");
  };
  Json s390x = {{"architecture", "s390x"}, {"weight", 80}};
  Json change = {{"nodeAffinityScoring", {{"platforms", Json::array({std::move(s390x)})}}}};
  Flow(scene(), "a preference")
      .Do(CreatePool({"amd64", "arm64"}))
      .Do(Create(MakeConfig("only").Prefer("arm64", 80)))
      .Await(ShardReady())
      .Do(Create(large("web")))
      .Await(Prefers("web", {{"arm64", 80}}))
      .Await(HasNodeClaims(1))
      .Check(ClaimsAreFor({"arm64"}))
      .Await(ScheduledOn("web", {"arm64"}))
      // No node of the pool can be s390x.
      .Do(Change(kConfigs, "only", {{"spec", {{"plugins", std::move(change)}}}}))
      .Do(Create(large("relaxed")))
      .Await(Prefers("relaxed", {{"s390x", 80}}))
      .Await(HasNodeClaims(2))
      .Await(ScheduledOn("relaxed", {"amd64", "arm64"}));
}

// With and without preferences for an architecture that the pool does not have.
class KarpenterConsolidationFlow : public KarpenterFlow,
                                   public testing::WithParamInterface<bool> {};

TEST_P(KarpenterConsolidationFlow, UnderutilizedNodesAreRemoved) {
  auto deployment = [&](const std::string& name, const std::string& cpu) {
    return MakeDeployment(
        name, Pod("", "demo/multi:1").Set("/spec/containers/0/resources/requests/cpu", cpu));
  };
  Flow flow(scene(), "two nodes, each with room for the other's pods");
  if (GetParam()) {
    flow.Do(Create(MakeConfig("only").Prefer("arm64", 80))).Await(ShardReady());
  }
  // Large pods, one for each node, with a small one beside it.
  flow.Do(CreatePool({"amd64"}))
      .Do(Create(deployment("large-1", "2500m")))
      .Do(Create(deployment("small-1", "500m")))
      .Await(HasNodeClaims(1))
      .Await(RolledOut("large-1"))
      .Await(RolledOut("small-1"))
      .Do(Create(deployment("large-2", "2500m")))
      .Do(Create(deployment("small-2", "500m")))
      .Await(RolledOut("large-2"))
      .Await(RolledOut("small-2"))
      .Await(HasNodeClaims(2));
  if (flow.failed()) return;
  auto start = std::chrono::steady_clock::now();
  flow.Do(Delete(kDeployments, "large-1"))
      .Do(Delete(kDeployments, "large-2"))
      .Await(HasNodeClaims(1), 180s)
      .Await(RolledOut("small-1"))
      .Await(RolledOut("small-2"));
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << "consolidation " << (GetParam() ? "with" : "without") << " preferences took "
            << seconds.count() << " s" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(With, KarpenterConsolidationFlow, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Preferences" : "Nothing");
});

}  // namespace
}  // namespace e2e

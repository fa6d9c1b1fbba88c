// SPDX-License-Identifier: Apache-2.0
// I8: operands are never gated, and run in namespaces that enforce the restricted Pod Security
// Standard and a ResourceQuota.
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

class OperandsFlow : public FlowFixture {};

class StrictNamespaceFlow : public FlowFixture {
 protected:
  Json NamespaceLabels() const override {
    return {{"pod-security.kubernetes.io/enforce", "restricted"},
            {"pod-security.kubernetes.io/enforce-version", "latest"}};
  }
};

TEST_F(StrictNamespaceFlow, AShardRunsInIt) {
  Json quota = {
      {"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", "strict"}}}};
  quota["spec"]["hard"] = {{"pods", "20"},
                           {"requests.cpu", "2"},
                           {"requests.memory", "1Gi"},
                           {"limits.cpu", "8"},
                           {"limits.memory", "2Gi"}};
  Json limits = {{"requests", {{"cpu", "1m"}, {"memory", "1Mi"}}},
                 {"limits", {{"cpu", "10m"}, {"memory", "8Mi"}}}};
  Flow(scene(), "a strict namespace")
      .Do(Create(kResourceQuotas, quota))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(
          MakePod("web").Image(Image("demo/multi:1")).Set("/spec/containers/0/resources", limits)))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Never(OperandHadGate());
}

// The config selects every pod of the namespace, which includes the shard's own pods, also after
// they were replaced.
TEST_F(OperandsFlow, AreNeverGatedByTheirOwnWebhook) {
  Flow(scene(), "operands are never gated")
      .Do(Create(MakeConfig("everything").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(CrashPods(std::string(api::kOperandLabel)))
      .Await(ShardReady())
      .Do(DeletePods(std::string(api::kOperandLabel)))
      .Await(ShardReady())
      .Never(OperandHadGate());
}

TEST_F(OperandsFlow, OfTheClusterAreNeverGated) {
  kube::ListOptions options{.ns = cluster().operator_namespace()};
  auto pods = cluster().Run(kube::ListObjects(cluster().client(), kPods, options));
  ASSERT_TRUE(pods) << pods.error();
  EXPECT_GE(pods->items.size(), 3u);
  for (const auto& pod : pods->items) {
    EXPECT_FALSE(IsGated(pod.body())) << pod.body();
    EXPECT_TRUE(LabelOf(pod.body(), std::string(api::kClusterGateLabel)).empty()) << pod.body();
  }
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "operator/status/operand_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/objects/operand_store.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {
namespace {

using kube::Json;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class OperandMetricsTest : public testing::Test {
 protected:
  void CreateDeployment(const char* ns, const char* name, const char* shard, int available) {
    Json labels = {{"app.kubernetes.io/managed-by", "multiarch-tuning-operator"}};
    if (*shard != 0) labels["multiarch.openshift.io/shard-namespace"] = shard;
    Json deployment = {{"apiVersion", "apps/v1"},
                       {"kind", "Deployment"},
                       {"metadata", {{"name", name}, {"namespace", ns}, {"labels", labels}}},
                       {"spec", {{"replicas", 1}}},
                       {"status", {{"replicas", 1}, {"availableReplicas", available}}}};
    api_.CreateJson(kube::kDeployments, deployment);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::Metrics metrics_;
};

TEST_F(OperandMetricsTest, NameTheOperandsThatAreNotAvailableWhileThisReplicaLeads) {
  CreateDeployment("ops", "pod-placement-controller", "", 2);
  CreateDeployment("ops", "pod-placement-web-hook", "", 0);
  CreateDeployment("shop", "pod-placement-shard-controller", "shop", 0);
  CreateDeployment("shop", "pod-placement-shard-web-hook", "shop", 1);
  CreateDeployment("blog", "pod-placement-shard-controller", "blog", 1);
  CreateDeployment("ops", "feature", "", 0);
  CreateDeployment("ops", "neither", "", 0);
  OperandStore store(api_, clock_);
  kube::TaskGroup tasks(io_.get_executor());
  store.Start(tasks);
  ASSERT_TRUE(kube::Run(io_, store.WaitForSync()).has_value());

  OperandMetrics of_operands(metrics_, "ops");
  EXPECT_THAT(metrics_.Render(), Not(HasSubstr("\nmto_ppo_shards "))) << "does not lead";
  UpgradeProgress upgrade;
  std::vector<std::string> unreachable = {"", "shop"};
  Reach cluster_reach = Reach::kUnreachable;
  of_operands.Follow(store, {"feature"},
                     {.upgrade = [&] { return upgrade; },
                      .left_out = [] { return 3u; },
                      .unreachable = [&] { return unreachable; },
                      .cluster_reach = [&] { return cluster_reach; }});
  std::string text = metrics_.Render();
  EXPECT_THAT(text, HasSubstr("mto_ppo_operand_unavailable{operand=\"pod-placement-web-hook\","
                              "operand_namespace=\"ops\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("mto_ppo_operand_unavailable{operand=\"pod-placement-shard-controller\","
                        "operand_namespace=\"shop\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("mto_ppo_operand_unavailable{operand=\"feature\","
                              "operand_namespace=\"ops\"} 1\n"));
  size_t series = 0;
  for (size_t at = 0; (at = text.find("\nmto_ppo_operand_unavailable{", at)) != std::string::npos;
       ++at)
    ++series;
  EXPECT_EQ(series, 3u) << text;
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_shards 2\n"));
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_configs_left_out 3\n"));
  EXPECT_THAT(text, HasSubstr("mto_ppo_webhook_unreachable{operand=\"pod-placement-web-hook\","
                              "operand_namespace=\"ops\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("mto_ppo_webhook_unreachable{operand=\"pod-placement-shard-web-hook\","
                        "operand_namespace=\"shop\"} 1\n"));

  unreachable.clear();
  cluster_reach = Reach::kReached;
  text = metrics_.Render();
  EXPECT_THAT(text, HasSubstr("mto_ppo_webhook_unreachable{operand=\"pod-placement-web-hook\","
                              "operand_namespace=\"ops\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("mto_ppo_webhook_unreachable{operand=\"pod-placement-shard")));
  cluster_reach = Reach::kUnknown;
  EXPECT_THAT(metrics_.Render(), Not(HasSubstr("\nmto_ppo_webhook_unreachable{")));

  upgrade = {.outdated = 3, .failed = {{"shop", {}}}};
  text = metrics_.Render();
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_shards_upgrade_failed 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_shard_upgrade_stopped 0\n"));
  upgrade.stopped = true;
  text = metrics_.Render();
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_shard_upgrade_stopped 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmto_ppo_shards_outdated 3\n"));

  unreachable = {"shop"};
  of_operands.Stop();
  text = metrics_.Render();
  for (const char* series :
       {"\nmto_ppo_operand_unavailable{", "\nmto_ppo_shards ", "\nmto_ppo_shards_outdated ",
        "\nmto_ppo_shard_upgrade_stopped ", "\nmto_ppo_webhook_unreachable{"}) {
    EXPECT_THAT(text, Not(HasSubstr(series)));
  }
  EXPECT_TRUE(kube::Run(io_, tasks.Stop(clock_, 10s)).has_value());
}

}  // namespace
}  // namespace operator_

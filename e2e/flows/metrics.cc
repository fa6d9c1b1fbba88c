// SPDX-License-Identifier: Apache-2.0
// The metrics of each program, under the names that alerts and dashboards use.
#include <map>
#include <sstream>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/http/pool.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Result;

class MetricsFlow : public FlowFixture {
 protected:
  // Each metric of the processes of `program` in `ns`, summed over all labels; histograms as
  // _count.
  std::map<std::string, double> Read(const std::string& program, const std::string& ns) {
    std::map<std::string, double> sums;
    for (PodProcess* process : TheProcessCluster().kubelet().OfProgram(program, ns)) {
      kube::Origin origin{.scheme = "http", .host = process->ip(), .port = "8080"};
      auto pool = kube::HttpPool::New(cluster().io().get_executor(), cluster().clock(), origin, {});
      kube::HttpRequest request{.method = "GET", .target = "/metrics", .timeout = 5s};
      auto answer = cluster().Run(pool->Call(request));
      EXPECT_TRUE(answer) << process->name() << ": " << answer.error();
      if (!answer) continue;
      EXPECT_EQ(answer->status, 200);
      std::istringstream lines(answer->body);
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        sums[line.substr(0, line.find_first_of("{ "))] +=
            std::strtod(line.c_str() + line.rfind(' '), nullptr);
      }
    }
    return sums;
  }
};

TEST_F(MetricsFlow, EachProgramCountsItsWork) {
  constexpr int kPods = 5;
  const std::string& ops = cluster().operator_namespace();
  std::map<std::string, double> controller_before = Read("cluster-controller", ops);
  std::map<std::string, double> webhook_before = Read("webhook", ops);
  Flow flow(scene(), "counted pods");
  // ShardReady() creates a pod in a dry run, which is one review. Read the counters after it.
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  std::map<std::string, double> local_before = Read("webhook", scene().ns());
  flow.Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(kPods)))
      .Await(AllUngated(kPods));
  if (flow.failed()) return;

  std::map<std::string, double> shard = Read("shard", scene().ns());
  EXPECT_EQ(shard["mto_ppo_ctrl_processed_pods_total"], kPods);
  EXPECT_EQ(shard["mto_ppo_ctrl_time_to_process_gated_pod_seconds_count"], kPods);
  EXPECT_EQ(shard["mto_ppo_pods_gated"], 0);
  EXPECT_EQ(shard["leader_election_master_status"], 1);

  std::map<std::string, double> local_webhook = Read("webhook", scene().ns());
  for (const char* name : {"mto_ppo_wh_pods_gated_total", "mto_ppo_wh_pods_processed_total",
                           "mto_ppo_wh_response_time_seconds_count"}) {
    EXPECT_EQ(local_webhook[name] - local_before[name], kPods) << name;
  }
  std::map<std::string, double> webhook = Read("webhook", ops);
  EXPECT_GE(webhook["mto_ppo_wh_pods_gated_total"] - webhook_before["mto_ppo_wh_pods_gated_total"],
            kPods);

  std::map<std::string, double> controller = Read("cluster-controller", ops);
  for (const char* name :
       {"mto_ppo_ctrl_processed_pods_total", "mto_ppo_ctrl_time_to_process_gated_pod_seconds_count",
        "mto_ppo_ctrl_time_to_release_pod_seconds_count",
        "mto_ppo_ctrl_time_to_inspect_pod_images_seconds_count"}) {
    EXPECT_GE(controller[name] - controller_before[name], kPods) << name;
  }
  EXPECT_EQ(controller["leader_election_master_status"], 1) << "exactly one replica leads";

  std::map<std::string, double> of_operator = Read("operator", ops);
  for (auto* program : {&shard, &controller, &of_operator}) {
    for (const char* name :
         {"rest_client_requests_total", "rest_client_request_duration_seconds_count",
          "controller_runtime_reconcile_total", "workqueue_adds_total"}) {
      EXPECT_GT((*program)[name], 0) << name;
    }
    EXPECT_EQ((*program)["controller_runtime_reconcile_panics_total"], 0);
  }
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// The metrics of each program, under the names that alerts and dashboards use. Those of the
// operator and of the cluster's operands are served over TLS, to clients with the right to read
// them.
#include <map>
#include <sstream>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/monitoring/metrics_reader.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/http/pool.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Result;

class MetricsFlow : public FlowFixture {
 protected:
  void TearDown() override {
    reader_.reset();
    FlowFixture::TearDown();
  }

  // The token of a ServiceAccount that may read metrics.
  std::string ReaderToken() {
    if (reader_ == nullptr) {
      auto made = MetricsReader::Make(scene());
      EXPECT_TRUE(made) << made.error();
      if (!made) return "";
      reader_ = std::move(*made);
    }
    return reader_->token();
  }

  // What `process` answers to GET /metrics. In the operator's namespace over TLS, with the
  // authorities in the Secret of its certificate, and with `token` unless that is empty.
  Result<kube::HttpResponse> Get(const PodProcess& process, const std::string& token) {
    bool tls = process.ns() == cluster().operator_namespace();
    kube::Origin origin{
        .scheme = tls ? "https" : "http", .host = process.ip(), .port = tls ? "8443" : "8080"};
    if (tls) {
      const std::map<std::string, std::string_view> services = {
          {"operator", api::kOperatorServiceName},
          {"cluster-controller", api::kControllerName},
          {"webhook", api::kWebhookName}};
      std::string service(services.at(process.program_name()));
      auto secret = cluster().Run(
          kube::GetObject(cluster().client(), kSecrets, kube::ObjectKey{process.ns(), service}));
      if (!secret) return secret.error();
      const Json& data = secret->body()["data"];
      origin.tls.ca_pem = *kube::Base64Decode(data.value("ca.crt", ""));
      if (origin.tls.ca_pem.empty()) return kube::Error::NotFound("no ca.crt in " + service);
      origin.tls.server_name = service + "." + process.ns() + ".svc";
    }
    auto pool = kube::HttpPool::New(cluster().io().get_executor(), cluster().clock(), origin, {});
    kube::HttpRequest request{.method = "GET", .target = "/metrics", .timeout = 5s};
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    return cluster().Run(pool->Call(std::move(request)));
  }

  // Processes of operands that an earlier flow removed are left out: their authority is gone.
  std::vector<PodProcess*> ProcessesOf(const std::string& program, const std::string& ns) {
    auto processes = TheProcessCluster().kubelet().OfProgram(program, ns);
    std::erase_if(processes, [this](const PodProcess* process) {
      auto pod = cluster().Run(
          kube::GetObject(cluster().client(), kPods, {process->ns(), process->name()}));
      return !pod || pod->metadata().has_deletion_timestamp();
    });
    return processes;
  }

  // Each metric of the processes of `program` in `ns`, summed over all labels; histograms as
  // _count.
  std::map<std::string, double> Read(const std::string& program, const std::string& ns) {
    std::map<std::string, double> sums;
    for (PodProcess* process : ProcessesOf(program, ns)) {
      auto answer = Get(*process, ReaderToken());
      EXPECT_TRUE(answer) << process->name() << ": " << answer.error();
      if (!answer) continue;
      EXPECT_EQ(answer->status, 200) << answer->body;
      std::istringstream lines(answer->body);
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        sums[line.substr(0, line.find_first_of("{ "))] +=
            std::strtod(line.c_str() + line.rfind(' '), nullptr);
      }
    }
    return sums;
  }

 private:
  std::unique_ptr<MetricsReader> reader_;
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
  EXPECT_GT(webhook["mto_ppo_certificate_end_timestamp_seconds"], 1e9);

  std::map<std::string, double> of_operator = Read("operator", ops);
  EXPECT_GE(of_operator["mto_ppo_shards"], 1);
  for (auto* program : {&shard, &controller, &of_operator}) {
    for (const char* name :
         {"rest_client_requests_total", "rest_client_request_duration_seconds_count",
          "controller_runtime_reconcile_total", "workqueue_adds_total"}) {
      EXPECT_GT((*program)[name], 0) << name;
    }
    EXPECT_EQ((*program)["controller_runtime_reconcile_panics_total"], 0);
  }
}

TEST_F(MetricsFlow, TheApiServerDecidesWhoReadsMetricsOfTheCluster) {
  std::string reader = ReaderToken();
  Result<std::string> other = NewToken(scene(), "other");
  ASSERT_TRUE(other) << other.error();
  for (const char* program : {"operator", "cluster-controller", "webhook"}) {
    SCOPED_TRACE(program);
    auto processes = ProcessesOf(program, cluster().operator_namespace());
    ASSERT_FALSE(processes.empty());
    for (PodProcess* process : processes) {
      for (const auto& [token, status] :
           {std::pair(std::string(), 401), std::pair(std::string("wrong"), 401),
            std::pair(*other, 403), std::pair(reader, 200)}) {
        auto answer = Get(*process, token);
        ASSERT_TRUE(answer) << answer.error();
        EXPECT_EQ(answer->status, status) << answer->body;
        EXPECT_EQ(answer->body.find("process_cpu_seconds_total") != std::string::npos,
                  status == 200);
      }
      // The port of the process's health does not serve them.
      kube::Origin origin{.scheme = "http", .host = process->ip(), .port = "8080"};
      auto pool = kube::HttpPool::New(cluster().io().get_executor(), cluster().clock(), origin, {});
      for (const auto& [path, status] :
           {std::pair("/metrics", 404), std::pair("/readyz", 200), std::pair("/healthz", 200)}) {
        kube::HttpRequest request{.method = "GET", .target = path, .timeout = 5s};
        auto answer = cluster().Run(pool->Call(std::move(request)));
        ASSERT_TRUE(answer) << answer.error();
        EXPECT_EQ(answer->status, status) << path;
      }
    }
  }
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// Every serving certificate and every authority is replaced while pods and configs are written all
// the time: no admission call fails.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kOperator[] = "multiarch-tuning-operator";
constexpr Resource kOlderClusterConfigs{api::kGroup, "v1alpha1", "clusterpodplacementconfigs",
                                        "ClusterPodPlacementConfig", false};
// Renewed after a minute.
constexpr char kValidity[] = "90s";

class RotationFlow : public FlowFixture {
 protected:
  void TearDown() override {
    auto set = SetValidity("");
    EXPECT_TRUE(set) << set.error();
    Flow(scene(), "the default validity").Await(OperatorRuns());
    FlowFixture::TearDown();
  }

  // Restarts the operator with this validity; "" for the default.
  Result<> SetValidity(const std::string& validity) {
    auto found = cluster().Run(kube::GetObject(cluster().client(), kDeployments, OperatorKey()));
    if (!found) return found.error();
    Json args = Json::array();
    for (const Json& arg : found->body()["spec"]["template"]["spec"]["containers"][0]["args"]) {
      if (!arg.get<std::string>().starts_with("--certificate-validity=")) args.push_back(arg);
    }
    if (!validity.empty()) args.push_back("--certificate-validity=" + validity);
    Json patch = Json::array({{{"op", "replace"},
                               {"path", "/spec/template/spec/containers/0/args"},
                               {"value", std::move(args)}}});
    auto patched = cluster().Run(kube::PatchObject(cluster().client(), kDeployments, OperatorKey(),
                                                   kube::kJsonPatch, std::move(patch)));
    if (!patched) return patched.error();
    return Ok();
  }

  // All replicas of the operator have the newest flags, and no other one runs.
  Condition OperatorRuns() {
    return {.name = "the operator runs with its newest flags", .holds = [this](Scene&) -> Result<> {
              auto found =
                  cluster().Run(kube::GetObject(cluster().client(), kDeployments, OperatorKey()));
              if (!found) return found.error();
              const Json& body = found->body();
              int64_t replicas = kube::IntAt(body, "spec.replicas", 1);
              auto all = [&](const char* field) { return kube::IntAt(body, field) == replicas; };
              bool current = kube::IntAt(body, "status.observedGeneration") >=
                             kube::IntAt(body, "metadata.generation");
              if (current && all("status.updatedReplicas") && all("status.replicas") &&
                  all("status.availableReplicas") &&
                  TheProcessCluster()
                          .kubelet()
                          .OfProgram("operator", cluster().operator_namespace())
                          .size() == size_t(replicas))
                return Ok();
              return Error::NotFound("it is being replaced");
            }};
  }

  kube::ObjectKey OperatorKey() { return {cluster().operator_namespace(), kOperator}; }

  // The Secrets of all serving certificates, and those of their authorities.
  std::vector<kube::ObjectKey> Certificates() {
    const std::string& ops = cluster().operator_namespace();
    return {{ops, std::string(api::kOperatorServiceName)},
            {ops, std::string(api::kWebhookName)},
            {ops, std::string(api::kControllerName)},
            {scene().ns(), std::string(api::kShardWebhookName)}};
  }
  std::vector<kube::ObjectKey> Authorities() {
    const std::string& ops = cluster().operator_namespace();
    return {{ops, "multiarch-tuning-operator-ca"},
            {ops, "pod-placement-ca"},
            {ops, "pod-placement-shard-ca-" + scene().ns()}};
  }
  std::map<kube::ObjectKey, std::string> Read(const std::vector<kube::ObjectKey>& secrets) {
    std::map<kube::ObjectKey, std::string> read;
    for (const kube::ObjectKey& key : secrets) {
      auto secret = cluster().Run(kube::GetObject(cluster().client(), kSecrets, key));
      if (secret) read[key] = secret->body()["data"].value("tls.crt", "");
    }
    return read;
  }

  // The calls of our webhooks that failed, by the API server's own count: ignored ones, refusals
  // without the webhook's answer, and failed conversions.
  std::map<std::string, double> FailedCalls() {
    kube::ApiRequest request{.target = "/metrics", .accept = "*/*"};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    EXPECT_TRUE(answer) << answer.error();
    std::map<std::string, double> failed;
    std::istringstream lines(answer ? answer->body : "");
    bool is_metrics = false;
    for (std::string line; std::getline(lines, line);) {
      auto has = [&](const std::string& text) { return line.find(text) != std::string::npos; };
      is_metrics = is_metrics || line.starts_with("apiserver_request_total{");
      bool ours = has("." + scene().ns() + ".") || has("\"pod-placement-") || has("\"validate-");
      bool ignored = line.starts_with("apiserver_admission_webhook_fail_open_count{") && ours;
      bool refused = line.starts_with("apiserver_admission_webhook_rejection_count{") && ours &&
                     !has("error_type=\"no_error\"");
      bool unconverted = line.starts_with("apiserver_crd_conversion_webhook_request_total{") &&
                         has("result=\"failure\"");
      if (ignored || refused || unconverted)
        failed[line.substr(0, line.rfind(' '))] =
            std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    EXPECT_TRUE(is_metrics) << "the API server shows no metrics";
    return failed;
  }

  // One write or read for each webhook: of the cluster and of the namespace, validating,
  // converting.
  void CallEachWebhook(int number) {
    std::string name = "p" + std::to_string(number);
    auto pod = scene().Create(kPods, MakePod(name).Image(Image("demo/multi:1")).Build());
    ASSERT_TRUE(pod) << pod.error();
    auto config = scene().Patch(kConfigs, "only",
                                {{"metadata", {{"annotations", {{"example.com/number", name}}}}}});
    ASSERT_TRUE(config) << config.error();
    auto converted = scene().Get(kOlderClusterConfigs, std::string(api::kClusterConfigName));
    ASSERT_TRUE(converted) << converted.error();
  }
};

TEST_F(RotationFlow, UnderLoadNoAdmissionCallFails) {
  constexpr size_t kRotations = 2;  // by a new authority, and by the end of its validity
  Flow flow(scene(), "certificates rotate");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  auto set = SetValidity(kValidity);
  ASSERT_TRUE(set) << set.error();
  flow.Await(OperatorRuns()).Await(ShardReady());
  if (flow.failed()) return;

  // Without its authority, a certificate that is still valid is replaced as well.
  std::map<kube::ObjectKey, std::string> authorities = Read(Authorities());
  std::map<kube::ObjectKey, std::set<std::string>> seen;
  for (const auto& [key, pem] : Read(Certificates())) seen[key] = {pem};
  ASSERT_EQ(authorities.size(), Authorities().size());
  ASSERT_EQ(seen.size(), Certificates().size());
  std::map<std::string, double> failed_before = FailedCalls();
  for (const auto& [key, pem] : authorities) {
    auto deleted = cluster().Run(kube::DeleteObject(cluster().client(), kSecrets, key));
    ASSERT_TRUE(deleted) << deleted.error();
  }

  int number = 0;
  auto rotated = [&](size_t times) {
    return std::all_of(seen.begin(), seen.end(),
                       [&](const auto& entry) { return entry.second.size() > times; });
  };
  kube::TimePoint deadline = cluster().clock().Now() + 240s;
  // Until some time after the last certificate was replaced, when its program serves it.
  kube::TimePoint end = deadline;
  while (cluster().clock().Now() < end && !HasFatalFailure()) {
    CallEachWebhook(++number);
    cluster().Pause(100ms);
    if (number % 10 != 0 || end < deadline) continue;
    for (const auto& [key, pem] : Read(Certificates())) seen[key].insert(pem);
    if (rotated(kRotations)) end = cluster().clock().Now() + 10s;
  }
  EXPECT_EQ(FailedCalls(), failed_before);
  for (const auto& [key, pems] : seen) {
    std::cout << key.ToString() << ": " << pems.size() << " certificates" << std::endl;
    EXPECT_GT(pems.size(), kRotations) << key.ToString();
  }
  std::map<kube::ObjectKey, std::string> renewed = Read(Authorities());
  for (const auto& [key, pem] : authorities) EXPECT_NE(renewed[key], pem) << key.ToString();
  std::cout << number << " pods were created" << std::endl;
  flow.Await(AllUngated(number));
  int checked = 0;
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last())) continue;
    ++checked;
    EXPECT_TRUE(HasGate(pod->events.front().pod, api::kLocalGate)) << pod->name;
    EXPECT_TRUE(HasGate(pod->events.front().pod, api::kClusterGate)) << pod->name;
  }
  EXPECT_EQ(checked, number);
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// Every serving certificate and every authority is replaced while pods and configs are written all
// the time: no admission call fails.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/flows/admission_load.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kOperator[] = "multiarch-tuning-operator";
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

  // A webhook for the pods of the scene, with a Service that does not exist.
  Json NoWebhook() {
    Json rule = {{"operations", {"CREATE"}},
                 {"apiGroups", {""}},
                 {"apiVersions", {"v1"}},
                 {"resources", {"pods"}}};
    Json service = {{"namespace", scene().ns()}, {"name", "none"}};
    Json selector = {{"matchLabels", {{"kubernetes.io/metadata.name", scene().ns()}}}};
    Json webhook = {{"name", "none." + scene().ns() + ".example.com"},
                    {"clientConfig", {{"service", std::move(service)}}},
                    {"rules", Json::array({std::move(rule)})},
                    {"namespaceSelector", std::move(selector)},
                    {"failurePolicy", "Ignore"},
                    {"sideEffects", "None"},
                    {"admissionReviewVersions", {"v1"}}};
    Json configuration = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                          {"kind", "MutatingWebhookConfiguration"},
                          {"metadata", {{"name", scene().ns()}}}};
    configuration["webhooks"] = Json::array({std::move(webhook)});
    return configuration;
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
  AdmissionLoad load(scene());
  for (const auto& [key, pem] : authorities) {
    auto deleted = cluster().Run(kube::DeleteObject(cluster().client(), kSecrets, key));
    ASSERT_TRUE(deleted) << deleted.error();
  }

  auto rotated = [&](size_t times) {
    return std::all_of(seen.begin(), seen.end(),
                       [&](const auto& entry) { return entry.second.size() > times; });
  };
  kube::TimePoint deadline = cluster().clock().Now() + 240s;
  // Ends some time after the last certificate was replaced, when its program serves it.
  kube::TimePoint end = deadline;
  while (cluster().clock().Now() < end && !HasFatalFailure()) {
    Result<> called = load.CallEachWebhook();
    ASSERT_TRUE(called) << called.error();
    cluster().Pause(100ms);
    if (load.pods() % 10 != 0 || end < deadline) continue;
    for (const auto& [key, pem] : Read(Certificates())) seen[key].insert(pem);
    if (rotated(kRotations)) end = cluster().clock().Now() + 10s;
  }
  for (const auto& [key, pems] : seen) {
    std::cout << key.ToString() << ": " << pems.size() << " certificates" << std::endl;
    EXPECT_GT(pems.size(), kRotations) << key.ToString();
  }
  std::map<kube::ObjectKey, std::string> renewed = Read(Authorities());
  for (const auto& [key, pem] : authorities) EXPECT_NE(renewed[key], pem) << key.ToString();
  std::cout << load.pods() << " pods were created" << std::endl;
  flow.Await(AllUngated(load.pods()));
  Result<> checked = load.CheckCalls();
  EXPECT_TRUE(checked) << checked.error();

  // The check notices a webhook that does not answer.
  flow.Do(Create(kMutatingWebhookConfigurations, NoWebhook()));
  cluster().Pause(2s);  // for the API server's watch
  Result<> called = load.CallEachWebhook();
  EXPECT_TRUE(called) << called.error();
  flow.Await(AllUngated(load.pods())).Do(Delete(kMutatingWebhookConfigurations, scene().ns()));
  EXPECT_FALSE(load.CheckCalls());
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// A real Prometheus scrapes all programs as the manifests say, and an alert fires.
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "e2e/framework/flow_fixture.h"
#include "e2e/monitoring/prometheus.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

class AlertsFlow : public FlowFixture {
 protected:
  void TearDown() override {
    prometheus_.reset();
    (void)scene().Delete(kClusterRoleBindings, BindingName());
    FlowFixture::TearDown();
  }

  std::string BindingName() { return "prometheus-" + scene().ns(); }

  // The token of a ServiceAccount that may read metrics.
  Result<std::string> NewToken() {
    Json account = {
        {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "prometheus"}}}};
    auto created = scene().Create(kServiceAccounts, account);
    if (!created) return created.error();
    Json binding = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                    {"kind", "ClusterRoleBinding"},
                    {"metadata", {{"name", BindingName()}}},
                    {"roleRef",
                     {{"apiGroup", "rbac.authorization.k8s.io"},
                      {"kind", "ClusterRole"},
                      {"name", "multiarch-tuning-operator-metrics-reader"}}}};
    binding["subjects"] = Json::array(
        {{{"kind", "ServiceAccount"}, {"name", "prometheus"}, {"namespace", scene().ns()}}});
    created = scene().Create(kClusterRoleBindings, binding);
    if (!created) return created.error();
    kube::ApiRequest request{
        .method = kube::Method::kPost,
        .target = kServiceAccounts.Path(scene().ns(), "prometheus", "token"),
        .content_type = std::string(kube::kJson),
        .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})"};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    if (!answer) return answer.error();
    return kube::StringAt(*kube::ParseJson(answer->body), "status.token");
  }

  // Every program has a target, and every target of the operator's namespace and of the scene
  // answers.
  Condition AllTargetsAnswer() {
    return {"Prometheus scrapes every program", [this](Scene& scene) -> Result<> {
              Result<Json> targets = prometheus_->Targets();
              if (!targets) return targets.error();
              std::set<std::string> missing = {
                  "multiarch-tuning-operator", "pod-placement-controller", "pod-placement-web-hook",
                  "pod-placement-shard-controller", "pod-placement-shard-web-hook"};
              for (const Json& target : *targets) {
                std::string ns = kube::StringAt(target, "labels.namespace");
                if (ns != scene.ns() && ns != scene.cluster().operator_namespace()) continue;
                if (target.at("health") != "up")
                  return Error::Unavailable("target " + target.dump());
                missing.erase(kube::StringAt(target, "labels.job"));
              }
              if (!missing.empty()) return Error::NotFound("no target of job " + *missing.begin());
              return Ok();
            }};
  }

  // The alert fires, or does not, for the namespace `ns`.
  Condition Fires(const std::string& alert, const std::string& ns, bool wanted = true) {
    return {alert + (wanted ? " fires" : " does not fire") + " for " + ns,
            [=, this](Scene&) -> Result<> {
              Result<Json> firing = prometheus_->FiringAlerts();
              if (!firing) return firing.error();
              bool found = false;
              for (const Json& one : *firing) {
                found = found || (kube::StringAt(one, "labels.alertname") == alert &&
                                  kube::StringAt(one, "labels.namespace") == ns);
              }
              if (found != wanted) return Error::NotFound("firing: " + firing->dump());
              return Ok();
            }};
  }

  // Every metric that alerts and dashboard use exists, and every metric of ours is documented.
  void ExpectMetricsExist() {
    auto scraped = prometheus_->MetricNames();
    ASSERT_TRUE(scraped) << scraped.error();
    std::set<std::string> existing(scraped->begin(), scraped->end());
    const std::string folder = "operator/manifests/components/monitoring/";
    for (const char* file : {"prometheus_rule.yaml", "dashboard.json"}) {
      std::set<std::string> used = MetricsIn(TextOf(folder + file));
      EXPECT_GE(used.size(), 10u) << file;
      for (const std::string& name : used)
        EXPECT_TRUE(existing.contains(name))
            << file << " uses " << name << ", which does not exist";
    }
    std::set<std::string> documented = MetricsIn(TextOf("docs/reference.md"));
    for (std::string name : existing) {
      if (!name.starts_with("mto_ppo_")) continue;
      for (const char* part : {"_bucket", "_count", "_sum"}) {
        if (name.ends_with(part)) name.resize(name.size() - std::strlen(part));
      }
      EXPECT_TRUE(documented.contains(name)) << "docs/reference.md says nothing about " << name;
    }
  }

  static std::string TextOf(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  static std::set<std::string> MetricsIn(const std::string& text) {
    static const std::regex kMetric(
        "\\b(mto_ppo|workqueue|controller_runtime|rest_client|leader_election|process)_[a-z_]+");
    std::set<std::string> names;
    for (std::sregex_iterator match(text.begin(), text.end(), kMetric), end; match != end; ++match)
      names.insert(match->str());
    return names;
  }

  std::unique_ptr<Prometheus> prometheus_;
};

TEST_F(AlertsFlow, AShardWithoutRoomInTheQuotaRaisesAnAlert) {
  if (!Prometheus::Installed())
    GTEST_SKIP() << "prometheus is not installed (e2e/cluster/packages.txt)";
  Result<std::string> token = NewToken();
  ASSERT_TRUE(token) << token.error();
  auto started = Prometheus::Start(cluster(), testing::TempDir() + "prometheus", *token);
  ASSERT_TRUE(started) << started.error();
  prometheus_ = std::move(*started);

  Flow working(scene(), "all programs are scraped");
  working.Do(Create(MakeConfig("first").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Await(AllTargetsAnswer());
  if (working.failed()) return;

  auto full = Scene::Make(cluster(), "full", Json::object());
  ASSERT_TRUE(full) << full.error();
  Json quota = {
      {"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", "no-pods"}}}};
  quota["spec"]["hard"]["pods"] = "0";
  const std::string& ns = (*full)->ns();
  Flow broken(**full, "a shard that the quota has no room for");
  broken.Do(Create(kResourceQuotas, quota))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(Fires("PodPlacementShardControllerDown", ns))
      .Await(Fires("PodPlacementShardWebhookDown", ns))
      .Check(Fires("PodPlacementShardControllerDown", scene().ns(), false))
      .Do(Delete(kConfigs, "only"))
      .Await(Fires("PodPlacementShardControllerDown", ns, false));

  Result<Json> firing = prometheus_->FiringAlerts();
  ASSERT_TRUE(firing) << firing.error();
  for (const Json& alert : *firing) {
    std::string name = kube::StringAt(alert, "labels.alertname");
    for (const char* wrong : {"PodPlacementControllerDown", "PodPlacementWebhookDown",
                              "PodPlacementOperatorDown", "PodPlacementCertificateExpiring"})
      EXPECT_NE(name, wrong) << alert;
  }
  ExpectMetricsExist();
  auto errors = prometheus_->RuleErrors();
  ASSERT_TRUE(errors) << errors.error();
  EXPECT_TRUE(errors->empty()) << errors->front();
}

}  // namespace
}  // namespace e2e

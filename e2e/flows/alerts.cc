// SPDX-License-Identifier: Apache-2.0
// A real Prometheus, configured as the option `monitoring` says: it scrapes every program, alerts
// about a shard that cannot run fire and end, and alerts and dashboard use metrics that exist.
// Prometheus is a process of this machine, which needs a route to the cluster's pods.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "api/known_images.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/quota.h"
#include "e2e/monitoring/metrics_reader.h"
#include "e2e/monitoring/prometheus.h"
#include "e2e/monitoring/promql.h"
#include "ephemeral-containers/flows/warning_conditions.h"
#include "ephemeral-containers/names.h"
#include "kube/client/typed.h"
#include "scheduling-policies/flows/policy_conditions.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using Names = std::set<std::string>;

class AlertsFlow : public FlowFixture {
 protected:
  void TearDown() override {
    prometheus_.reset();
    reader_.reset();
    Result<> without = UseClusterConfig(DefaultClusterConfig());
    EXPECT_TRUE(without) << without.error();
    Flow(scene(), "the plugins are off")
        .Await(PolicyWebhookRemoved())
        .Await(WarningWebhookRemoved());
    FlowFixture::TearDown();
  }

  void StartPrometheus() {
    auto reader = MetricsReader::Make(scene());
    ASSERT_TRUE(reader) << reader.error();
    reader_ = std::move(*reader);
    std::string folder = testing::TempDir() + "/prometheus-" + scene().ns();
    auto started = Prometheus::Start(cluster(), std::move(folder), reader_->token());
    ASSERT_TRUE(started) << started.error();
    prometheus_ = std::move(*started);
  }

  // The jobs of all programs.
  static Names Jobs() {
    Names jobs = {"multiarch-tuning-operator"};
    for (std::string_view operand :
         {api::kControllerName, api::kWebhookName, policy::kWebhookName, ephemeral::kWebhookName,
          api::kShardControllerName, api::kShardWebhookName}) {
      jobs.emplace(operand);
    }
    return jobs;
  }
  // The pods of the programs in the operator's namespace and in the scene's.
  Result<Names> RunningPods() {
    Names names;
    for (const std::string& ns : {cluster().operator_namespace(), scene().ns()}) {
      kube::ListOptions options{.ns = ns, .label_selector = std::string(api::kOperandLabel)};
      auto pods = cluster().Run(kube::ListObjects(cluster().client(), kPods, std::move(options)));
      if (!pods) return pods.error();
      for (const kube::Unstructured& pod : pods->items) {
        if (kube::StringAt(pod.body(), "status.phase") == "Running" &&
            !pod.metadata().has_deletion_timestamp())
          names.insert(pod.metadata().name());
      }
    }
    return names;
  }
  // Over TLS from all programs but the shards (docs/operations.md).
  bool ReadsAsConfigured(const Json& target) {
    bool of_cluster = kube::StringAt(target, "labels.namespace") == cluster().operator_namespace();
    return target.at("health") == "up" &&
           kube::StringAt(target, "scrapeUrl").starts_with("https:") == of_cluster;
  }
  Condition AllProgramsAnswer() {
    return {.name = "Prometheus reads the metrics of every program",
            .holds = [this](Scene&) -> Result<> {
              Result<> updated = prometheus_->UpdateTargets();
              if (!updated) return updated.error();
              Result<Names> missing = RunningPods();
              if (!missing) return missing.error();
              missing->merge(Jobs());
              Result<Json> data = prometheus_->Get("targets?state=active");
              if (!data) return data.error();
              std::string errors;
              for (const Json& target : data->at("activeTargets")) {
                std::string pod = kube::StringAt(target, "labels.pod");
                if (ReadsAsConfigured(target)) {
                  missing->erase(pod);
                  missing->erase(kube::StringAt(target, "labels.job"));
                } else if (missing->contains(pod)) {
                  errors += "\n" + pod + ": " + kube::StringAt(target, "lastError");
                }
              }
              if (missing->empty()) return Ok();
              return Error::NotFound("not those of " + kube::DumpJson(Json(*missing)) + errors);
            }};
  }

  // Exactly these alerts about programs that do not work fire: "PodPlacementControllerDown ", or
  // with the namespace at the end.
  Condition FiringAre(const Names& wanted) {
    return {.name = "alerts fire: " + kube::DumpJson(Json(wanted)),
            .holds = [this, wanted](Scene&) -> Result<> {
              Result<> updated = prometheus_->UpdateTargets();
              if (!updated) return updated.error();
              Result<Json> data = prometheus_->Get("alerts");
              if (!data) return data.error();
              Names firing;
              for (const Json& alert : data->at("alerts")) {
                std::string name = kube::StringAt(alert, "labels.alertname");
                if (kube::StringAt(alert, "state") == "firing" && name.ends_with("Down"))
                  firing.insert(name + " " + kube::StringAt(alert, "labels.namespace"));
              }
              if (firing == wanted) return Ok();
              return Error::NotFound("firing: " + kube::DumpJson(Json(firing)));
            }};
  }

  // The expressions of all alerts; an Error if one of them cannot be evaluated.
  Result<Names> Rules() {
    Result<Json> data = prometheus_->Get("rules");
    if (!data) return data.error();
    Names expressions;
    for (const Json& group : data->at("groups")) {
      for (const Json& rule : group.at("rules")) {
        if (rule.at("health") != "ok") return Error::Invalid(kube::DumpJson(rule));
        expressions.insert(rule.at("query").get<std::string>());
      }
    }
    return expressions;
  }

  // The expressions of all panels.
  Names PanelExpressions() {
    Names expressions;
    for (const kube::Unstructured& object : prometheus_->manifests()) {
      const Json* text = kube::Find(object.body(), "data");
      if (object.metadata().name() != "multiarch-tuning-operator-dashboard" || text == nullptr)
        continue;
      Json dashboard = *kube::ParseJson(text->at("pod-placement.json").get<std::string>());
      for (const Json& panel : dashboard.at("panels")) {
        for (const Json& target : panel.value("targets", Json::array())) {
          // Grafana's.
          static const std::regex kVariable(R"(\$__rate_interval)");
          std::string expression = target.at("expr");
          expressions.insert(std::regex_replace(expression, kVariable, "1m"));
        }
      }
    }
    return expressions;
  }
  Condition EveryPanelShowsData() {
    return {.name = "every panel of the dashboard shows data", .holds = [this](Scene&) -> Result<> {
              for (const std::string& expression : PanelExpressions()) {
                // Empty while nothing is wrong.
                if (expression.find("==") != std::string::npos) continue;
                Result<Json> series = prometheus_->Query(expression);
                if (!series) return series.error();
                if (series->empty()) return Error::NotFound("no data: " + expression);
              }
              return Ok();
            }};
  }

  // The metrics that Prometheus has read, of histograms all their series.
  Names MetricNames() {
    Result<Json> data = prometheus_->Get("label/__name__/values");
    EXPECT_TRUE(data) << data.error();
    return data ? data->get<Names>() : Names();
  }

  static Names DocumentedMetrics() {
    std::ifstream in("docs/reference.md");
    std::stringstream text;
    text << in.rdbuf();
    std::string reference = text.str();
    static const std::regex kMetric("mto_ppo_[a-z_]+");
    Names names;
    for (std::sregex_iterator match(reference.begin(), reference.end(), kMetric), end; match != end;
         ++match)
      names.insert(match->str());
    return names;
  }

  std::unique_ptr<MetricsReader> reader_;
  std::unique_ptr<Prometheus> prometheus_;
};

// "x_seconds_bucket" -> "x_seconds"
std::string WithoutSuffix(std::string_view name) {
  for (std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return std::string(name);
}

TEST_F(AlertsFlow, PrometheusScrapesAllProgramsAndAnAlertFires) {
  if (!Prometheus::Installed())
    GTEST_SKIP() << "prometheus is not installed (e2e/monitoring/packages.txt)";
  // Makes the webhooks of features run and have metrics.
  Result<> used =
      UseClusterConfig(DefaultClusterConfig()
                           .Set("/spec/knownImages", api::kPlaceKnownImages)
                           .Set("/spec/plugins/schedulingPolicies/enabled", true)
                           .Set("/spec/plugins/ephemeralContainerWarnings/enabled", true));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "a scheduling policy")
      .Do(Create(policy::kPodSchedulingPolicies, MakePolicy("only", "one")))
      .Await(PolicyReady("only"));
  ASSERT_NO_FATAL_FAILURE(StartPrometheus());
  Flow flow(scene(), "a shard cannot run, and then runs");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Await(AllProgramsAnswer())
      .Await(FiringAre({}));

  auto broken = Scene::Make(cluster(), "broken", Json::object());
  ASSERT_TRUE(broken) << broken.error();
  const std::string ns = (*broken)->ns();
  Flow no_room(**broken, "a quota that leaves a shard no room");
  no_room.Do(Create(kResourceQuotas, MakeQuota({{"pods", "0"}})))
      .Await(QuotaInForce())
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)));
  flow.Await(FiringAre(
                 {"PodPlacementShardControllerDown " + ns, "PodPlacementShardWebhookDown " + ns}))
      .Await(EveryPanelShowsData());
  if (flow.failed()) return;

  Names existing = MetricNames();
  Result<Names> rules = Rules();
  ASSERT_TRUE(rules) << rules.error();
  for (const Names& expressions : {*rules, PanelExpressions()}) {
    EXPECT_GE(expressions.size(), 10u);
    for (const std::string& expression : expressions) {
      Names used = MetricsIn(expression);
      EXPECT_FALSE(used.empty()) << expression;
      for (const std::string& name : used)
        EXPECT_TRUE(existing.contains(name)) << name << " does not exist: " << expression;
    }
  }
  Names ours;
  for (const std::string& name : existing) {
    if (name.starts_with("mto_ppo_")) ours.insert(WithoutSuffix(name));
  }
  EXPECT_EQ(ours, DocumentedMetrics()) << "docs/reference.md";

  no_room.Do(Delete(kResourceQuotas, kQuotaName));
  flow.Await(FiringAre({}));
}

}  // namespace
}  // namespace e2e

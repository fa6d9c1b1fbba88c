// SPDX-License-Identifier: Apache-2.0
// Rules by CEL in PodPlacementConfigs: the API server evaluates them when a pod is created, and
// when a controller asks about what the pod's record does not say. Both give the same answer.
#include <iostream>

#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::kValidatingAdmissionPolicies;
using kube::kValidatingAdmissionPolicyBindings;
using kube::Ok;
using kube::Result;

const std::string kSources(api::kPreferredAffinitySourcesAnnotation);
const std::string kRecord(api::kLocalConfigsAnnotation);
const std::string kNotEvaluated(api::kReasonRulesNotEvaluated);

class CelRulesFlow : public FlowFixture {
 protected:
  static Json Rule(const std::string& name, const std::string& expression,
                   const std::vector<std::pair<std::string, int>>& platforms) {
    Json rule = {{"name", name}, {"expression", expression}};
    for (const auto& [architecture, weight] : platforms)
      rule["platforms"].push_back({{"architecture", architecture}, {"weight", weight}});
    return rule;
  }
  // Two rules, of which the first matches every pod and the second those named "other...".
  static ConfigBuilder Web() {
    return MakeConfig("web")
        .Prefer("amd64", 10)
        .Set("/spec/celRules/0",
             Rule("multi", "object.spec.containers.exists(c, c.image.endsWith('demo/multi:1'))",
                  {{"arm64", 80}}))
        .Set("/spec/celRules/1",
             Rule("other", "object.metadata.name.startsWith('other') // a comment",
                  {{"s390x", 5}, {"arm64", 1}}));
  }
  PodBuilder Pod(const std::string& name) { return MakePod(name).Image(Image("demo/multi:1")); }

  static Condition WebPreferences(const std::string& pod) {
    return Prefers(pod, {{"arm64", 80}, {"amd64", 10}});
  }
  static Condition OtherPreferences(const std::string& pod) {
    return Prefers(pod, {{"arm64", 80}, {"s390x", 5}, {"amd64", 10}});
  }
  // The sources of WebPreferences() and OtherPreferences().
  static constexpr char kWebSources[] =
      "arm64:80:PodPlacementConfig-web/multi,amd64:10:PodPlacementConfig-web";
  static constexpr char kOtherSources[] =
      "arm64:80:PodPlacementConfig-web/multi,s390x:5:PodPlacementConfig-web/other,"
      "arm64:1:PodPlacementConfig-web/other:skipped,amd64:10:PodPlacementConfig-web";

  // The policy that answers questions, and its binding.
  Condition PolicyExists() {
    return {"the policy of rules exists", [](Scene& scene) -> Result<> {
              std::string name = api::ShardWebhookConfigurationName(scene.ns());
              Result<Json> policy = scene.Get(kValidatingAdmissionPolicies, name);
              if (!policy) return policy.error();
              Result<Json> binding = scene.Get(kValidatingAdmissionPolicyBindings, name);
              if (!binding) return binding.error();
              return Ok();
            }};
  }
  void AwaitNoPolicy(Flow& flow) {
    std::string name = api::ShardWebhookConfigurationName(scene().ns());
    flow.Await(Absent(kValidatingAdmissionPolicies, name))
        .Await(Absent(kValidatingAdmissionPolicyBindings, name));
  }
  // Thousands of entries, of rules that do not exist and with invalid names.
  static std::string Forged() {
    std::string record;
    for (int i = 0; i < 5000; ++i) record += "web/gone-" + std::to_string(i) + ",../x/y,A,";
    return record;
  }
  bool CreatedWithLocalGate(const std::string& pod) {
    return HasGate(scene().pods().Find(pod)->events.front().pod, api::kLocalGate);
  }
  // Creates `pod` so that no webhook of the shard is called.
  Step CreateWithoutWebhook(const PodBuilder& pod) {
    return {"create a pod without the shard's webhook", [pod](Scene& scene) -> Result<> {
              kube::IgnoreError(scene.Delete(kMutatingWebhookConfigurations,
                                             api::ShardWebhookConfigurationName(scene.ns())),
                                "the controller may have deleted it");
              Result<Json> created = scene.Create(kPods, pod.Build());
              if (!created) return created.error();
              return Ok();
            }};
  }
};

TEST_F(CelRulesFlow, MatchingRulesComeBeforeTheirConfig) {
  Flow flow(scene(), "rules");
  flow.Do(Create(Web()))
      .Await(ShardReady())
      .Check(PolicyExists())
      .Do(Create(Pod("web")))
      .Await(WebPreferences("web"))
      .Check(Annotated("web", kSources, kWebSources))
      .Do(Create(Pod("other")))
      .Await(OtherPreferences("other"))
      .Check(Annotated("other", kSources, kOtherSources))
      .Do(Create(MakePod("single").Image(Image("demo/amd64:1"))))
      .Await(Prefers("single", {{"amd64", 10}}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  EXPECT_TRUE(CreatedWithLocalGate("web"));
  std::string record = AnnotationOf(scene().pods().Find("web")->last(), kRecord);
  EXPECT_NE(record.find("web/multi"), std::string::npos) << record;
  EXPECT_EQ(record.find("web/other"), std::string::npos) << record;
}

TEST_F(CelRulesFlow, PrioritiesAndRulesGiveTheOrder) {
  Flow flow(scene(), "order of rules");
  flow.Do(Create(MakeConfig("low").Priority(1).Set(
              "/spec/celRules/0", Rule("c", "true", {{"s390x", 9}, {"ppc64le", 6}}))))
      .Do(Create(MakeConfig("high")
                     .Priority(2)
                     .Prefer("arm64", 4)
                     .Set("/spec/celRules/0", Rule("a", "true", {{"arm64", 1}}))
                     .Set("/spec/celRules/1", Rule("b", "true", {{"arm64", 2}, {"s390x", 3}}))))
      .Await(ShardReady())
      .Do(Create(Pod("web")))
      .Await(Prefers("web", {{"arm64", 1}, {"s390x", 3}, {"ppc64le", 6}}))
      .Check(Annotated("web", kSources,
                       "arm64:1:PodPlacementConfig-high/a,"
                       "arm64:2:PodPlacementConfig-high/b:skipped,"
                       "s390x:3:PodPlacementConfig-high/b,"
                       "arm64:4:PodPlacementConfig-high:skipped,"
                       "s390x:9:PodPlacementConfig-low/c:skipped,"
                       "ppc64le:6:PodPlacementConfig-low/c"));
}

// I4. The record of these pods is empty, or forged, and the cluster controller asks.
TEST_F(CelRulesFlow, WithoutTheWebhookPodsGetTheSamePreferences) {
  Flow flow(scene(), "the shard's webhook is missing");
  flow.Do(Create(Web())).Await(ShardReady());
  int without_gate = 0;
  for (int i = 0; i < 10 && !flow.failed(); ++i) {
    std::string name = (i % 2 == 0 ? "web" : "other") + std::to_string(i);
    flow.Do(CreateWithoutWebhook(Pod(name).Annotation(kRecord, "web/other,web/gone,../x")));
    if (i % 2 == 0) {
      flow.Await(WebPreferences(name));
    } else {
      flow.Await(OtherPreferences(name));
    }
    if (flow.failed()) return;
    if (CreatedWithLocalGate(name)) continue;
    ++without_gate;
    flow.Check(Annotated(name, kSources, i % 2 == 0 ? kWebSources : kOtherSources));
  }
  EXPECT_GT(without_gate, 0) << "the webhook was always there";
  flow.Never(ClusterGateRemovedBeforeLocal()).Never(GateRemovedWithoutItsDecision());
}

// I4. Neither the webhook entries nor the policy know the rule when the pod is created.
TEST_F(CelRulesFlow, ARuleThatIsCreatedAnInstantBeforeThePodIsNotMissed) {
  Flow flow(scene(), "rules and pods");
  flow.Do(Create(MakeConfig("all").Priority(0).Prefer("s390x", 1))).Await(ShardReady());
  for (int i = 1; i <= 15 && !flow.failed(); ++i) {
    std::string name = "r" + std::to_string(i);
    std::string expression = "object.metadata.labels['round'] == '" + name + "'";
    flow.Do(Create(MakeConfig(name).Priority(i).Set("/spec/celRules/0",
                                                    Rule("mine", expression, {{"arm64", i}}))))
        .Do(Create(Pod(name).Label("round", name)));
    // A shard that restarts meanwhile asks again.
    if (i % 5 == 0) flow.Do(CrashPods(std::string(api::kOperandLabel) + "=shard"));
    flow.Await(Prefers(name, {{"arm64", i}, {"s390x", 1}}));
  }
  // The same for a rule that is changed.
  for (int i = 1; i <= 5 && !flow.failed(); ++i) {
    std::string name = "changed" + std::to_string(i);
    Json rules = Json::array(
        {Rule("mine", "object.metadata.labels['round'] == '" + name + "'", {{"ppc64le", i}})});
    flow.Do(Change(kConfigs, "r1", {{"spec", {{"celRules", rules}}}}))
        .Do(Create(Pod(name).Label("round", name)))
        .Await(Prefers(name, {{"ppc64le", i}, {"s390x", 1}}));
  }
  flow.Never(ClusterGateRemovedBeforeLocal()).Never(GateRemovedWithoutItsDecision());
}

// The record of the first pods is complete, the policy answers for the rest.
TEST_F(CelRulesFlow, ATakeoverGivesTheSamePreferences) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "a dead shard");
  flow.Do(Create(Web())).Await(ShardReady());
  const std::vector<ProgramIn> shard = {{"shard", scene().ns()}};
  flow.Do(StopPrograms(shard))
      .Await(NoProcessOf(shard))
      .Do(Create(Pod("web")))
      .Do(Create(Pod("other")))
      // A record that is too long to be true.
      .Do(Create(
          Pod("forged")
              .Set("/spec/schedulingGates", Json::array({{{"name", std::string(api::kLocalGate)}}}))
              .Annotation(kRecord, Forged())))
      .Await(WebPreferences("web"))
      .Await(OtherPreferences("other"))
      .Await(WebPreferences("forged"))
      .Check(Annotated("web", kSources, kWebSources))
      .Check(Annotated("other", kSources, kOtherSources))
      .Await(EventAbout("web", std::string(api::kReasonShardTakeover)))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  StartPrograms(shard);
  flow.Await(ShardReady());
}

TEST_F(CelRulesFlow, BadExpressionsAreRefusedInTheWordsOfTheApiServer) {
  struct Row {
    const char* expression;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"object.spec.", {"Syntax error"}},
      {"pod.metadata.name == 'web'", {"undeclared reference to 'pod'"}},
      {"object.metadata.name", {"bool"}},
      {"true) || (true", {"Syntax error"}},
      {"request.userInfo.username == 'ann'", {"must use only the variable object"}},
      {"authorizer.group('').resource('pods').check('get').allowed()",
       {"must use only the variable object"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = row.words;
    words.push_back("spec.celRules[1].expression");
    Flow(scene(), row.expression)
        .Refused(Create(MakeConfig("bad")
                            .Set("/spec/celRules/0", Rule("good", "true", {{"arm64", 1}}))
                            .Set("/spec/celRules/1", Rule("bad", row.expression, {{"arm64", 1}}))),
                 words);
  }
  Json bad = Json::array({Rule("bad", "object.spec.", {{"arm64", 1}})});
  Flow(scene(), "an update")
      .Do(Create(Web()))
      .Refused(Change(kConfigs, "web", {{"spec", {{"celRules", bad}}}}),
               {"spec.celRules[0].expression", "Syntax error"});
}

// It does not match, and the pod does not wait for it.
TEST_F(CelRulesFlow, AnExpressionThatFailsForAPodDoesNotSelectIt) {
  Flow flow(scene(), "a failing expression");
  flow.Do(Create(
              MakeConfig("web")
                  .Prefer("amd64", 10)
                  .Set("/spec/celRules/0",
                       Rule("fails", "object.metadata.annotations['no'] == 'such'", {{"s390x", 1}}))
                  .Set("/spec/celRules/1", Rule("works", "true", {{"arm64", 2}}))))
      .Await(ShardReady())
      .Do(Create(Pod("by-record")))
      .Await(Prefers("by-record", {{"arm64", 2}, {"amd64", 10}}))
      .Do(CreateWithoutWebhook(Pod("by-question")))
      .Await(Prefers("by-question", {{"arm64", 2}, {"amd64", 10}}));
  if (flow.failed()) return;
  for (const char* pod : {"by-record", "by-question"}) {
    const std::string events = scene().Describe(pod);
    EXPECT_EQ(events.find(kNotEvaluated), std::string::npos) << events;
  }
}

// The policy goes with the last rule, and with the last config.
TEST_F(CelRulesFlow, NothingIsLeftWithoutRules) {
  Flow flow(scene(), "the last rule");
  flow.Do(Create(Web()))
      .Await(ShardReady())
      .Check(PolicyExists())
      .Do(Change(kConfigs, "web", {{"spec", {{"celRules", nullptr}}}}));
  AwaitNoPolicy(flow);
  flow.Await(ShardReady())
      .Do(Create(Pod("plain")))
      .Await(Prefers("plain", {{"amd64", 10}}))
      .Do(Change(kConfigs, "web", {{"spec", {{"celRules", Web().Build()["spec"]["celRules"]}}}}))
      .Do(Create(Pod("web")))
      .Await(WebPreferences("web"))
      .Await(PolicyExists())
      .Do(Delete(kConfigs, "web"))
      .Await(ShardRemoved());
  AwaitNoPolicy(flow);
}

// Another policy refuses every dry run: the pod keeps what is known of it, and does not wait.
TEST_F(CelRulesFlow, ARefusedQuestionKeepsNoPodGated) {
  const std::string name = "no-dry-run-" + scene().ns();
  Json policy = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                 {"kind", "ValidatingAdmissionPolicy"},
                 {"metadata", {{"name", name}}}};
  policy["spec"]["matchConstraints"]["resourceRules"] = Json::array({{{"apiGroups", {""}},
                                                                      {"apiVersions", {"v1"}},
                                                                      {"operations", {"UPDATE"}},
                                                                      {"resources", {"pods"}}}});
  policy["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"]
        ["kubernetes.io/metadata.name"] = scene().ns();
  policy["spec"]["validations"] =
      Json::array({{{"expression", "!request.dryRun"}, {"message", "no dry runs here"}}});
  Json binding = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                  {"kind", "ValidatingAdmissionPolicyBinding"},
                  {"metadata", {{"name", name}}},
                  {"spec", {{"policyName", name}, {"validationActions", {"Deny"}}}}};
  Condition in_force = {
      "dry runs are refused", [](Scene& scene) -> Result<> {
        kube::ApiRequest request{.method = kube::Method::kPatch,
                                 .target = kPods.Path(scene.ns(), "before") + "?dryRun=All",
                                 .content_type = std::string(kube::kMergePatch),
                                 .body = R"({"metadata":{"labels":{"a":"b"}}})"};
        auto answer = scene.cluster().Run(scene.cluster().client().Call(std::move(request)));
        if (answer) return Error::NotFound("a dry run was admitted");
        if (answer.error().message().find("no dry runs here") == std::string::npos)
          return answer.error();
        return Ok();
      }};
  Flow flow(scene(), "dry runs are refused");
  flow.Do(Create(Web()))
      .Await(ShardReady())
      .Do(Create(Pod("before")))
      .Await(WebPreferences("before"))
      .Do(Create(kValidatingAdmissionPolicies, policy))
      .Do(Create(kValidatingAdmissionPolicyBindings, binding))
      .Await(in_force)
      .Do(Create(Pod("recorded")))
      .Await(WebPreferences("recorded"))
      .Await(EventAbout("recorded", kNotEvaluated, {"PodPlacementConfig-web", "no dry runs here"}))
      .Do(CreateWithoutWebhook(Pod("unrecorded")))
      .Await(Ungated("unrecorded"))
      .Await(EventAbout("unrecorded", kNotEvaluated, {"no dry runs here"}))
      .Do(Delete(kValidatingAdmissionPolicyBindings, name))
      .Do(Delete(kValidatingAdmissionPolicies, name));
}

// All select the pod by labels, and one by its rule: the others are asked.
TEST_F(CelRulesFlow, SixtyConfigsWithRules) {
  constexpr int kCount = 60;
  Flow flow(scene(), "60 configs with rules");
  for (int i = 1; i <= kCount && !flow.failed(); ++i) {
    std::string number = std::to_string(i);
    flow.Do(Create(
        MakeConfig("config-" + number)
            .Priority(i)
            .Set("/spec/celRules/0",
                 Rule("mine", "object.metadata.name == 'pod-" + number + "'", {{"arm64", i}}))));
  }
  flow.Do(Create(MakeConfig("all").Priority(0).Prefer("amd64", 1))).Await(ShardReady());
  for (const char* number : {"1", "31", "60"}) {
    if (flow.failed()) return;
    auto begin = std::chrono::steady_clock::now();
    std::string pod = std::string("pod-") + number;
    flow.Do(Create(Pod(pod))).Await(Prefers(pod, {{"arm64", std::stoi(number)}, {"amd64", 1}}));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << pod << " of 60 configs with rules: " << took.count() << " s" << std::endl;
  }
  flow.Do(CreateWithoutWebhook(Pod("pod-30")))
      .Await(Prefers("pod-30", {{"arm64", 30}, {"amd64", 1}}))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e

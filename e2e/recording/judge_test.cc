// SPDX-License-Identifier: Apache-2.0
// Hand-made recordings in which each rule is broken once.
#include "e2e/recording/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace e2e {
namespace {

using kube::Json;
using sim::checker::Commit;
using sim::checker::Gated;
using sim::checker::kController;
using sim::checker::kOperatorUser;
using sim::checker::kShardOfShop;
using sim::checker::kUser;
using sim::checker::Labelled;
using sim::checker::Placed;
using sim::checker::Pod;
using sim::checker::Preferring;
using sim::checker::Share;
using sim::checker::Time;
using sim::checker::WithoutGate;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using namespace std::chrono_literals;

// Writes recordings, with the states that a recorder knows.
class HandMade {
 public:
  HandMade() {
    for (const char* ns : {"shop", "openshift-multiarch-tuning-operator"})
      Write(kUser, "", "namespaces", {{"metadata", {{"name", ns}}}});
    Write(kUser, std::string(api::kGroup), "clusterpodplacementconfigs",
          {{"metadata", {{"name", "cluster"}}}, {"spec", Json::object()}});
    Write(kUser, std::string(api::kGroup), "podplacementconfigs",
          {{"metadata", {{"namespace", "shop"}, {"name", "a"}, {"generation", 1}}},
           {"spec", sim::checker::Prefers({{"arm64", 50}})}});
    now_ += 1min;
  }

  Json Write(const std::string& user, const std::string& group, const std::string& plural,
             Json object, const Json& sent = nullptr) {
    kube::ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                        kube::StringAt(object, "metadata.name")};
    auto& latest = latest_[{group + "/" + plural, key}];
    ++version_;
    object["metadata"]["resourceVersion"] = std::to_string(version_);
    object["metadata"]["uid"] =
        latest ? kube::StringAt(*latest, "metadata.uid") : "uid-" + std::to_string(version_);
    Commit commit{.version = version_,
                  .group = group,
                  .plural = plural,
                  .key = key,
                  .before = latest,
                  .after = Share(object),
                  .user = user,
                  .verb = latest ? "update" : "create",
                  .at = now_};
    if (!sent.is_null()) commit.sent = Share(sent);
    latest = commit.after;
    recorded_.commits.push_back(std::move(commit));
    now_ += 10ms;
    return object;
  }
  Json WritePod(const std::string& user, Json pod) {
    return Write(user, "", "pods", std::move(pod));
  }
  // A pod with the cluster gate, and the local gate if `local`.
  Json CreatePod(const std::string& name, bool local = false) {
    Json gated = Gated(Pod(name), api::kClusterGate);
    if (local) gated = Gated(std::move(gated), api::kLocalGate);
    return Write(kUser, "", "pods", gated, Pod(name));
  }
  void Pass(Time time) { now_ += time; }
  Time now() const { return now_; }
  Commit& last() { return recorded_.commits.back(); }
  Recorded& recorded() { return recorded_; }
  // Most tests write a part of a decision.
  Verdict Judged() {
    std::set<std::string> rules = RulesOfRealRuns();
    rules.erase("I4");
    return JudgeRun(recorded_, {}, {.rules = std::move(rules)});
  }
  Verdict JudgedByAllRules() { return JudgeRun(recorded_, {}); }

 private:
  Recorded recorded_;
  std::map<std::pair<std::string, kube::ObjectKey>, sim::checker::JsonRef> latest_;
  uint64_t version_ = 0;
  Time now_{};
};

std::vector<std::string> Rules(const Verdict& verdict) {
  std::vector<std::string> rules;
  for (const Finding& finding : verdict.violations) rules.push_back(finding.violation.rule);
  return rules;
}

TEST(JudgeTest, NothingIsWrong) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.WritePod(kController, Placed(pod, {"amd64"}));
  Verdict verdict = run.Judged();
  EXPECT_THAT(Rules(verdict), IsEmpty()) << verdict.Describe();
  EXPECT_EQ(verdict.pods_judged, 1u);
  EXPECT_EQ(verdict.commits, 6u);
  EXPECT_THAT(verdict.not_judged, IsEmpty());
}

TEST(JudgeTest, FindsAClusterGateThatGoesFirst) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod(kController, Placed(pod, {"amd64"}));
  EXPECT_THAT(Rules(run.Judged()), Contains("I1"));
}

TEST(JudgeTest, FindsADecisionWithoutItsGate) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod(kShardOfShop, Preferring(pod, "arm64", 50, "PodPlacementConfig-a"));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I2"));
}

TEST(JudgeTest, FindsAWriteAfterTheRelease) {
  HandMade run;
  Json pod = run.CreatePod("web");
  pod = run.WritePod(kController, Placed(pod, {"amd64"}));
  run.WritePod(kController, Labelled(pod, "multiarch.openshift.io/arm64"));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I2"));
}

TEST(JudgeTest, FindsAChangeOfWhatTheUserSet) {
  HandMade run;
  Json pod = Placed(run.CreatePod("web"), {"amd64"});
  pod["spec"]["priorityClassName"] = "high";
  run.WritePod(kController, pod);
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I5"));
}

TEST(JudgeTest, FindsAWriteInAnotherNamespace) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod("system:serviceaccount:other:pod-placement-shard-controller",
               WithoutGate(pod, api::kLocalGate));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I6"));
}

TEST(JudgeTest, FindsAnOperandWithAGate) {
  HandMade run;
  Json sent = Labelled(Pod("web"), std::string(api::kOperandLabel), "shard");
  run.Write(kUser, "", "pods", Gated(sent, api::kClusterGate), sent);
  EXPECT_THAT(Rules(run.Judged()), Contains("I8"));
}

TEST(JudgeTest, FindsAGateThatNothingAsksFor) {
  HandMade run;
  Json sent = Labelled(Pod("web"), std::string(api::kExcludeLabel), "");
  run.Write(kUser, "", "pods", Gated(sent, api::kClusterGate), sent);
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("gating"));
}

TEST(JudgeTest, FindsAnInspectionThatIsGivenUpTooEarly) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.WritePod(kController, WithoutGate(sim::checker::Failed(pod, 2), api::kClusterGate));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("inspection", "inspection"));
}

TEST(JudgeTest, FindsATakeoverThatIsTooEarly) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("takeover"));
}

TEST(JudgeTest, FindsATeardownWithoutReason) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.WritePod(kOperatorUser, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("teardown"));
}

TEST(JudgeTest, TellsTheStoryOfThePod) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  run.CreatePod("other");
  Verdict verdict = run.Judged();
  ASSERT_EQ(verdict.violations.size(), 1u);
  EXPECT_EQ(verdict.violations[0].violation.object, "pods shop/web");
  EXPECT_THAT(verdict.violations[0].story,
              ElementsAre(HasSubstr("create by alice: created, with the gates "
                                    "multiarch.openshift.io/scheduling-gate, "
                                    "multiarch.openshift.io/local-scheduling-gate"),
                          HasSubstr("update by the cluster controller: gates: none")));
  EXPECT_THAT(verdict.Describe(), HasSubstr("takeover pods shop/web at"));
}

TEST(JudgeTest, ReportsEachPartOnce) {
  HandMade run;
  Judge judge({});
  Json pod = run.CreatePod("web", /*local=*/true);
  pod = run.WritePod(kShardOfShop, Preferring(pod, "arm64", 50, "PodPlacementConfig-a"));
  judge.Add(std::exchange(run.recorded(), {}));
  EXPECT_THAT(Rules(judge.Take()), ElementsAre("I2"));
  // The pod is known from the first part.
  run.Pass(1min);
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  judge.Add(std::exchange(run.recorded(), {}));
  Verdict second = judge.Take();
  EXPECT_THAT(Rules(second), IsEmpty()) << second.Describe();
  EXPECT_EQ(second.pods_judged, 1u);
}

TEST(JudgeTest, CountsWhatATestExpects) {
  HandMade run;
  Json sent = Pod("web"), gated = Gated(sent, api::kClusterGate);
  gated["spec"]["containers"][0]["image"] = "mirror.io/app:1";
  run.Write(kUser, "", "pods", gated, sent);
  Judge judge({});
  judge.Expect({.rule = "I5",
                .text = "admission changed",
                .object = "pods shop/",
                .why = "a webhook of the test"});
  judge.Add(run.recorded());
  Verdict verdict = judge.Take();
  EXPECT_THAT(Rules(verdict), IsEmpty());
  EXPECT_THAT(verdict.expected, ElementsAre(Pair("a webhook of the test", 1u)));
  // Not in the next part, and not for other pods.
  judge.Expect({.rule = "I5", .text = "", .object = "pods other/", .why = "another one"});
  HandMade again;
  again.Write(kUser, "", "pods", gated, sent);
  judge.Add(again.recorded());
  EXPECT_THAT(Rules(judge.Take()), ElementsAre("I5"));
}

// ---- What is not known is not judged.

TEST(JudgeTest, PodThatExistedBefore) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.last().verb = "list";
  run.last().user.clear();
  run.last().sent = nullptr;
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  Verdict verdict = run.Judged();
  EXPECT_THAT(Rules(verdict), IsEmpty()) << verdict.Describe();  // no takeover
  EXPECT_EQ(verdict.pods_judged, 0u);
  EXPECT_THAT(verdict.not_judged, ElementsAre(Pair("it existed before it was watched", 1u)));
}

TEST(JudgeTest, PodThatExistedBeforeHasItsOrder) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  run.last().verb = "list";
  run.WritePod(kController, Placed(pod, {"amd64"}));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I1"));
}

TEST(JudgeTest, WriterThatIsNotKnown) {
  HandMade run;
  Json pod = run.CreatePod("web", /*local=*/true);
  pod = run.WritePod("", WithoutGate(pod, api::kLocalGate));
  run.WritePod(kController, Placed(pod, {"amd64"}));
  Verdict verdict = run.Judged();
  EXPECT_THAT(Rules(verdict), IsEmpty()) << verdict.Describe();
  EXPECT_THAT(verdict.not_judged,
              ElementsAre(Pair("the audit log does not name a writer of it", 1u)));
}

TEST(JudgeTest, BindingNeedsNoWriter) {
  HandMade run;
  Json pod = run.WritePod(kController, Placed(run.CreatePod("web"), {"amd64"}));
  pod["spec"]["nodeName"] = "node-1";
  run.WritePod("", pod);
  Verdict verdict = run.Judged();
  EXPECT_EQ(verdict.pods_judged, 1u);
  EXPECT_THAT(verdict.not_judged, IsEmpty());
}

TEST(JudgeTest, GapOfPods) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.recorded().gaps.push_back(
      {.plural = "pods", .from = run.now(), .to = run.now() + 1s, .why = "410"});
  run.Pass(2s);
  // Whatever changed the class, it was in the gap.
  pod = Placed(pod, {"amd64"});
  pod["spec"]["priorityClassName"] = "high";
  run.WritePod(kController, pod);
  Json young = run.CreatePod("young");
  run.WritePod(kController, Placed(young, {"amd64"}));
  Verdict verdict = run.Judged();
  EXPECT_THAT(Rules(verdict), IsEmpty()) << verdict.Describe();
  EXPECT_EQ(verdict.pods_judged, 1u);
  EXPECT_THAT(verdict.not_judged, ElementsAre(Pair("a gap: 410", 1u)));
  EXPECT_THAT(verdict.Describe(), HasSubstr("gap of pods"));
}

TEST(JudgeTest, GapOfConfigurations) {
  HandMade run;
  run.recorded().gaps.push_back({.group = std::string(api::kGroup),
                                 .plural = "clusterpodplacementconfigs",
                                 .from = run.now(),
                                 .to = run.now() + 1s,
                                 .why = "410"});
  Json pod = run.CreatePod("web", /*local=*/true);
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  Json other = run.CreatePod("other", /*local=*/true);
  run.WritePod(kController, Placed(other, {"amd64"}));
  // shardTakeoverAfter may be another one. The order of the gates is the same.
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I1"));
  // What follows is known again.
  run.Pass(1min);
  pod = run.CreatePod("later", /*local=*/true);
  run.WritePod(kController, WithoutGate(Placed(pod, {"amd64"}), api::kLocalGate));
  EXPECT_THAT(Rules(run.Judged()), ElementsAre("I1", "takeover"));
}

// ---- I4

// The pod web with the preference of the config, as the cluster controller places it.
Json Decided(HandMade& run, std::vector<std::string> architectures) {
  Json pod = Labelled(run.CreatePod("web"), std::string(api::kPreferredNodeAffinityLabel), "set");
  return Placed(Preferring(pod, "arm64", 50, "PodPlacementConfig-a"), std::move(architectures));
}

TEST(JudgeTest, RequirementIsThatOfSomeImages) {
  for (const auto& architectures :
       {std::vector<std::string>{"amd64"}, std::vector<std::string>{"arm64", "s390x"}}) {
    HandMade run;
    run.WritePod(kController, Decided(run, architectures));
    Verdict verdict = run.JudgedByAllRules();
    EXPECT_THAT(Rules(verdict), IsEmpty()) << verdict.Describe();
  }
}

TEST(JudgeTest, FindsLabelsThatAreNotThoseOfTheRequirement) {
  HandMade run;
  Json pod = Decided(run, {"amd64"});
  run.WritePod(kController, Labelled(pod, std::string(api::kLabelPrefix) + "arm64"));
  EXPECT_THAT(Rules(run.JudgedByAllRules()), ElementsAre("I4"));
}

TEST(JudgeTest, FindsAPreferenceThatIsLost) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.WritePod(kController, Placed(Labelled(pod, std::string(api::kPreferredNodeAffinityLabel),
                                            std::string(api::kNotSet)),
                                   {"amd64"}));
  EXPECT_THAT(Rules(run.JudgedByAllRules()), ElementsAre("I4"));
}

TEST(JudgeTest, ARefusedWriteAllowsTheBareRelease) {
  HandMade run;
  Json pod = run.CreatePod("web");
  run.recorded().refused.push_back({.user = kController, .pod = {"shop", "web"}, .at = run.now()});
  run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  Verdict verdict = run.JudgedByAllRules();
  EXPECT_THAT(Rules(verdict), testing::Not(Contains("I4"))) << verdict.Describe();
}

}  // namespace
}  // namespace e2e

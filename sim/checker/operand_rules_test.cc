// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/operand_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kReplicaSets[] = "system:serviceaccount:kube-system:replicaset-controller";

Json Operand() { return Labelled(Pod("shard-1"), std::string(api::kOperandLabel), "shard"); }

Json Deployment() {
  Json container = {
      {"name", "main"},
      {"securityContext",
       {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}}};
  Json pod = {{"metadata", {{"labels", {{std::string(api::kOperandLabel), "shard"}}}}},
              {"spec",
               {{"securityContext",
                 {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
                {"containers", Json::array({container})}}}};
  return {{"metadata", {{"namespace", "shop"}, {"name", "pod-placement-shard-controller"}}},
          {"spec", {{"template", pod}}}};
}

TEST(OperandRules, OperandWithoutGate) {
  TestRun run;
  run.WritePod(kReplicaSets, Operand());
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(OperandRules, OperandWithGate) {
  TestRun run;
  run.WritePod(kReplicaSets, Gated(Operand(), api::kLocalGate));
  EXPECT_THAT(run.Found(), ElementsAre("I8")) << run.Described();
}

TEST(OperandRules, GateThatItsAuthorHasSentIsRemoved) {
  TestRun run;
  Json sent = Gated(Operand(), api::kClusterGate);
  Json pod = run.Write(kUser, "", "pods", sent, "", sent);
  run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  EXPECT_EQ(run.checker().judged().bare, 1u);
}

TEST(OperandRules, RestrictedTemplateWithTheLabel) {
  TestRun run;
  run.Write(kOperatorUser, "apps", "deployments", Deployment());
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(OperandRules, TemplateWithoutTheLabel) {
  TestRun run;
  Json deployment = Deployment();
  deployment["spec"]["template"]["metadata"].erase("labels");
  run.Write(kOperatorUser, "apps", "deployments", deployment);
  EXPECT_THAT(run.Found(), ElementsAre("I8")) << run.Described();
}

TEST(OperandRules, TemplateThatIsNotRestricted) {
  for (const char* field : {"allowPrivilegeEscalation", "capabilities"}) {
    TestRun run;
    Json deployment = Deployment();
    deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"].erase(field);
    run.Write(kOperatorUser, "apps", "deployments", deployment);
    EXPECT_THAT(run.Found(), ElementsAre("I8")) << field << run.Described();
  }
  for (const char* field : {"runAsNonRoot", "seccompProfile"}) {
    TestRun run;
    Json deployment = Deployment();
    deployment["spec"]["template"]["spec"]["securityContext"].erase(field);
    run.Write(kOperatorUser, "apps", "deployments", deployment);
    EXPECT_THAT(run.Found(), ElementsAre("I8")) << field << run.Described();
  }
}

}  // namespace
}  // namespace sim::checker

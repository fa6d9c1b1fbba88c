// SPDX-License-Identifier: Apache-2.0
// Rights that are taken away, and CRDs that are missing at the start: the operator reports this,
// and recovers without a restart when they are back.
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/access_review.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kOperator[] = "multiarch-tuning-operator";

class MissingFlow : public FlowFixture {
 protected:
  // Restarts of the operator's pods.
  int Restarts() {
    int restarts = 0;
    for (PodProcess* process : Operators()) restarts += process->restarts();
    return restarts;
  }
  std::vector<PodProcess*> Operators() {
    return TheProcessCluster().kubelet().OfProgram("operator", cluster().operator_namespace());
  }
  Condition OperatorLogs(const std::string& text) {
    return {.name = "the operator logs " + text, .holds = [this, text](Scene&) -> Result<> {
              for (PodProcess* process : Operators()) {
                if (process->LogTail().find(text) != std::string::npos) return Ok();
              }
              return Error::NotFound("no operator does");
            }};
  }
  // What the API server's authorizer, which follows roles and bindings by a watch, says about the
  // operator's requests for `resource` in the scene's namespace.
  Condition OperatorMay(const std::string& verb, const std::string& resource, bool allowed) {
    return {.name = std::string("the operator ") + (allowed ? "may " : "may not ") + verb + " " +
                    resource,
            .holds = [this, verb, resource, allowed](Scene& scene) -> Result<> {
              const std::string& ops = cluster().operator_namespace();
              Json user = {{"username", "system:serviceaccount:" + ops + ":" + kOperator},
                           {"groups",
                            {"system:serviceaccounts", "system:serviceaccounts:" + ops,
                             "system:authenticated"}}};
              Json request = {{"verb", verb}, {"resource", resource}, {"namespace", scene.ns()}};
              auto may = cluster().Run(
                  kube::MayAccess(cluster().client(), std::move(user), std::move(request), 10s));
              if (!may) return may.error();
              if (*may == allowed) return Ok();
              return Error::NotFound(allowed ? "it may not" : "it still may");
            }};
  }
};

TEST_F(MissingFlow, ARightThatIsTakenAwayIsNamed) {
  int restarts = Restarts();
  auto role = scene().Get(kClusterRoles, kOperator);
  ASSERT_TRUE(role) << role.error();
  Json fewer = Json::array();
  for (const Json& rule : (*role)["rules"]) {
    bool of_services = kube::DumpJson(rule["resources"]).find("\"services\"") != std::string::npos;
    bool writes = kube::DumpJson(rule["verbs"]).find("patch") != std::string::npos;
    if (!(of_services && writes)) fewer.push_back(rule);
  }
  ASSERT_LT(fewer.size(), (*role)["rules"].size());
  Flow flow(scene(), "a right is taken away");
  flow.Do(Change(kClusterRoles, kOperator, {{"rules", fewer}}))
      .Await(OperatorMay("patch", "services", false))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True",
                                "may not patch services in namespace " + scene().ns()))
      .Check(HasStatusCondition(kConfigs, "only", "Degraded", "True", "RightsMissing"))
      .Await(EventAbout("only", "ShardDegraded", {"services"}))
      .Do(Change(kClusterRoles, kOperator, {{"rules", (*role)["rules"]}}))
      .Await(ShardReady(), 120s)
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "False"))
      .Await(EventAbout("only", "ShardRecovered"));
  EXPECT_EQ(Restarts(), restarts);
}

// Without any right, not even that to write a status.
TEST_F(MissingFlow, AllRightsAreTakenAway) {
  int restarts = Restarts();
  auto binding = scene().Get(kClusterRoleBindings, kOperator);
  ASSERT_TRUE(binding) << binding.error();
  Json again = {{"apiVersion", "rbac.authorization.k8s.io/v1"}, {"kind", "ClusterRoleBinding"}};
  again["metadata"] = {{"name", kOperator}, {"labels", (*binding)["metadata"]["labels"]}};
  again["roleRef"] = (*binding)["roleRef"];
  again["subjects"] = (*binding)["subjects"];
  Flow flow(scene(), "all rights are taken away");
  flow.Do(Delete(kClusterRoleBindings, kOperator))
      .Await(OperatorMay("create", "configmaps", false));
  // Pods are created and placed.
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1")))).Await(Ungated("web"));
  // The operator's watches go on; its own requests are refused.
  flow.Do(Change(kClusterConfigs, std::string(api::kClusterConfigName),
                 {{"spec", {{"logVerbosity", "Debug"}}}}))
      .Await(OperatorLogs("cannot patch resource \"configmaps\""))
      .Do(Create(kClusterRoleBindings, again))
      .Await(OperatorMay("create", "configmaps", true))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady(), 120s);
  EXPECT_EQ(Restarts(), restarts);
}

TEST_F(MissingFlow, ACrdThatIsMissingAtTheStart) {
  constexpr char kCrd[] = "podplacementconfigs.multiarch.openshift.io";
  Flow flow(scene(), "a CRD is missing");
  flow.Await(NoConfigAnywhere())
      .Do(Delete(kube::kCustomResourceDefinitions, kCrd))
      .Await(Absent(kube::kCustomResourceDefinitions, kCrd));
  for (PodProcess* process : Operators()) process->Crash();
  flow.Await(OperatorLogs("podplacementconfigs: retry"));
  if (flow.failed()) return;
  int restarts = Restarts();
  auto deployed = TheProcessCluster().DeployOperator();
  ASSERT_TRUE(deployed) << deployed.error();
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady(), 120s)
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
  EXPECT_EQ(Restarts(), restarts);
}

}  // namespace
}  // namespace e2e

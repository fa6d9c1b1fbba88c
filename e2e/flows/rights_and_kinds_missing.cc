// SPDX-License-Identifier: Apache-2.0
// Rights that are taken away, and CRDs that are missing at the start: the operator reports this,
// and recovers without a restart when they are back. So it does with a webhook that the API server
// cannot call, which only stays so without the operator's right to repair the configuration.
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/base/base64.h"
#include "kube/client/access_review.h"
#include "kube/client/typed.h"
#include "kube/crypto/certificates.h"

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
  // operator's requests for `resource` in the scene's namespace, or those of another `account`.
  Condition OperatorMay(const std::string& verb, const std::string& resource, bool allowed,
                        const std::string& group = "", const std::string& account = kOperator) {
    return {
        .name = account + (allowed ? " may " : " may not ") + verb + " " + resource,
        .holds = [this, verb, resource, allowed, group, account](Scene& scene) -> Result<> {
          const std::string& ops = cluster().operator_namespace();
          Json user = {{"username", "system:serviceaccount:" + ops + ":" + account},
                       {"groups",
                        {"system:serviceaccounts", "system:serviceaccounts:" + ops,
                         "system:authenticated"}}};
          Json request = {
              {"verb", verb}, {"group", group}, {"resource", resource}, {"namespace", scene.ns()}};
          auto may = cluster().Run(
              kube::MayAccess(cluster().client(), std::move(user), std::move(request), 10s));
          if (!may) return may.error();
          if (*may == allowed) return Ok();
          return Error::NotFound(allowed ? "it may not" : "it still may");
        }};
  }
  // `rules` without the right to patch `resource`, or another one.
  static Json WithoutPatch(Json rules, const std::string& resource) {
    return Without(std::move(rules), "patch", resource);
  }
  static Json Without(Json rules, const std::string& right, const std::string& resource) {
    for (Json& rule : rules) {
      const std::string resources = kube::DumpJson(rule["resources"]);
      if (resources.find("\"" + resource + "\"") == std::string::npos) continue;
      Json verbs = Json::array();
      for (const Json& verb : rule["verbs"]) {
        if (verb != right) verbs.push_back(verb);
      }
      rule["verbs"] = std::move(verbs);
    }
    return rules;
  }

  // Whether a replica of the cluster controller is available.
  Condition ControllerIsAvailable(bool available) {
    return {
        .name = std::string("the cluster controller is ") + (available ? "" : "not ") + "available",
        .holds = [this, available](Scene&) -> Result<> {
          auto deployment = cluster().Run(
              kube::GetObject(cluster().client(), kDeployments,
                              {cluster().operator_namespace(), std::string(api::kControllerName)}));
          if (!deployment) return deployment.error();
          int64_t replicas = kube::IntAt(deployment->body(), "status.availableReplicas");
          if ((replicas > 0) == available) return Ok();
          return Error::NotFound(std::to_string(replicas) + " replicas are");
        }};
  }

  // A change that the operator reverts. It is not one of our kinds: the API server ends the watches
  // of a CRD that has just been changed.
  Step ChangeTheControllersDeployment() {
    return {.name = "change the cluster controller's Deployment",
            .act = [this](Scene&) -> Result<> {
              Json labels = {{"app.kubernetes.io/managed-by", "me"}};
              auto changed = cluster().Run(kube::PatchObject(
                  cluster().client(), kDeployments,
                  {cluster().operator_namespace(), std::string(api::kControllerName)},
                  kube::kMergePatch, {{"metadata", {{"labels", std::move(labels)}}}}));
              if (!changed) return changed.error();
              return Ok();
            }};
  }

  // Replaces the CA bundle of all entries.
  void SetCaBundle(const std::string& configuration, const std::string& base64) {
    auto found = scene().Get(kMutatingWebhookConfigurations, configuration);
    ASSERT_TRUE(found) << found.error();
    Json webhooks = (*found)["webhooks"];
    for (Json& webhook : webhooks) webhook["clientConfig"]["caBundle"] = base64;
    Flow(scene(), "a CA bundle is changed")
        .Do(Change(kMutatingWebhookConfigurations, configuration, {{"webhooks", webhooks}}));
  }
};

TEST_F(MissingFlow, ARightThatIsTakenAwayIsNamed) {
  int restarts = Restarts();
  auto role = scene().Get(kClusterRoles, kOperator);
  ASSERT_TRUE(role) << role.error();
  Json fewer = WithoutPatch((*role)["rules"], "services");
  ASSERT_NE(fewer, (*role)["rules"]);
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
  // With its owner, or it stays when a later flow deletes the operator's namespace.
  again["metadata"] = {{"name", kOperator},
                       {"labels", (*binding)["metadata"]["labels"]},
                       {"ownerReferences", (*binding)["metadata"]["ownerReferences"]}};
  again["roleRef"] = (*binding)["roleRef"];
  again["subjects"] = (*binding)["subjects"];
  Flow flow(scene(), "all rights are taken away");
  flow.Do(Delete(kClusterRoleBindings, kOperator))
      .Await(OperatorMay("create", "configmaps", false));
  // Pods are created and placed.
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1")))).Await(Ungated("web"));
  // The operator's watches go on; its own requests are refused.
  flow.Do(ChangeTheControllersDeployment())
      .Await(OperatorLogs("deployments.apps \"pod-placement-controller\" is forbidden"))
      .Do(Create(kClusterRoleBindings, again))
      .Await(OperatorMay("create", "configmaps", true))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady(), 120s);
  EXPECT_EQ(Restarts(), restarts);
}

// The webhooks' pods are ready, and the API server does not trust their certificates.
TEST_F(MissingFlow, AWebhookWithAWrongCaBundleIsReported) {
  constexpr char kNotAvailable[] = "MutatingWebhookConfigurationNotAvailable";
  const std::string cluster_config(api::kClusterConfigName);
  const std::string of_cluster(api::kMutatingWebhookConfigurationName);
  const std::string of_shard = api::ShardWebhookConfigurationName(scene().ns());
  auto role = scene().Get(kClusterRoles, kOperator);
  ASSERT_TRUE(role) << role.error();
  Json fewer = WithoutPatch((*role)["rules"], "mutatingwebhookconfigurations");
  Flow flow(scene(), "wrong CA bundles");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Await(HasStatusCondition(kClusterConfigs, cluster_config, kNotAvailable, "False",
                                "the API server calls the webhook"),
             90s)
      .Do(Change(kClusterRoles, kOperator, {{"rules", fewer}}))
      .Await(OperatorMay("patch", "mutatingwebhookconfigurations", false,
                         "admissionregistration.k8s.io"));
  if (flow.failed()) return;
  auto other = kube::NewCertificateAuthority("other", 1h, cluster().clock());
  ASSERT_TRUE(other) << other.error();
  const std::string wrong = kube::Base64Encode(other->certificate_pem);
  ASSERT_NO_FATAL_FAILURE(SetCaBundle(of_cluster, wrong));
  ASSERT_NO_FATAL_FAILURE(SetCaBundle(of_shard, wrong));
  // A probe a minute, and two more.
  flow.Await(HasStatusCondition(kClusterConfigs, cluster_config, kNotAvailable, "True",
                                "WebhookUnreachable"),
             120s)
      .Check(HasStatusCondition(kClusterConfigs, cluster_config, "Available", "False"))
      .Await(HasStatusCondition(kConfigs, "only", "Available", "False", "WebhookUnreachable"),
             120s);
  // The calls fail, as the operator says: the pod has no gate of either kind.
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(OfPod("web", "exists", [](const Json&) { return true; }));
  if (!flow.failed()) {
    const Json& created = scene().pods().Find("web")->events.front().pod;
    EXPECT_FALSE(HasGate(created, api::kClusterGate)) << created;
    EXPECT_FALSE(HasGate(created, api::kLocalGate)) << created;
  }
  // Whatever failed, the next flows need the right.
  Flow repair(scene(), "the right is back");
  repair.Do(Change(kClusterRoles, kOperator, {{"rules", (*role)["rules"]}}))
      .Await(HasStatusCondition(kClusterConfigs, cluster_config, kNotAvailable, "False",
                                "the API server calls the webhook"),
             180s)
      .Await(HasStatusCondition(kConfigs, "only", "Available", "True"), 120s)
      .Await(ShardReady());
}

// I3: the operator sees an outage, as no pod can be placed.
TEST_F(MissingFlow, AControllerThatMayNotWritePodsIsNotAvailable) {
  const std::string controller(api::kControllerName);
  auto role = scene().Get(kClusterRoles, controller);
  ASSERT_TRUE(role) << role.error();
  Json fewer = Without((*role)["rules"], "update", "pods");
  ASSERT_NE(fewer, (*role)["rules"]);
  Flow flow(scene(), "the controller's right is taken away");
  flow.Await(ControllerIsAvailable(true))
      .Do(Change(kClusterRoles, controller, {{"rules", fewer}}))
      .Await(OperatorMay("update", "pods", false, "", controller))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(ControllerIsAvailable(false), 60s);
  // Whatever failed, the next flows need the right.
  Flow repair(scene(), "the right is back");
  repair.Do(Change(kClusterRoles, controller, {{"rules", (*role)["rules"]}}))
      .Await(ControllerIsAvailable(true), 60s)
      .Await(Ungated("web"), 60s);
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

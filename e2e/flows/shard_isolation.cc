// SPDX-License-Identifier: Apache-2.0
// I6: a shard has few rights, in its own namespace only, and a certificate of that namespace's own
// authority.
#include <set>

#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Ok;
using kube::Result;

class ShardIsolationFlow : public FlowFixture {
 protected:
  // Whether the API server's authorizer allows the ServiceAccount this request.
  bool May(const std::string& account, const std::string& verb, const std::string& group,
           const std::string& resource, const std::string& ns) {
    Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}};
    review["spec"]["user"] = "system:serviceaccount:" + scene().ns() + ":" + account;
    review["spec"]["groups"] = {"system:serviceaccounts", "system:serviceaccounts:" + scene().ns(),
                                "system:authenticated"};
    review["spec"]["resourceAttributes"] = {
        {"verb", verb}, {"group", group}, {"resource", resource}, {"namespace", ns}};
    auto answer = cluster().Run(
        kube::CreateObject(cluster().client(), kSubjectAccessReviews, kube::Unstructured(review)));
    EXPECT_TRUE(answer) << answer.error();
    return answer && kube::BoolAt(answer->body(), "status.allowed");
  }

  // The service accounts of the shard's pods.
  std::set<std::string> Accounts() {
    std::set<std::string> accounts;
    for (std::string_view name : {api::kShardControllerName, api::kShardWebhookName}) {
      auto deployment = scene().Get(kDeployments, std::string(name));
      EXPECT_TRUE(deployment) << deployment.error();
      if (deployment)
        accounts.insert(
            kube::StringAt(*deployment, "spec.template.spec.serviceAccountName", "default"));
    }
    return accounts;
  }
};

TEST_F(ShardIsolationFlow, AShardHasFewRightsAndOnlyInItsNamespace) {
  auto other = Scene::Make(cluster(), "neighbour", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow flow(scene(), "a shard to look at");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;

  for (const std::string& account : Accounts()) {
    SCOPED_TRACE(account);
    for (const std::string& ns :
         {scene().ns(), (*other)->ns(), cluster().operator_namespace(), std::string()}) {
      SCOPED_TRACE("in namespace '" + ns + "'");
      for (const char* verb : {"get", "list", "watch", "create", "update", "delete"}) {
        EXPECT_FALSE(May(account, verb, "", "secrets", ns)) << verb;
        EXPECT_FALSE(May(account, verb, "rbac.authorization.k8s.io", "roles", ns)) << verb;
      }
      EXPECT_FALSE(May(account, "create", "", "pods", ns));
      EXPECT_FALSE(May(account, "delete", "", "pods", ns));
      EXPECT_FALSE(May(account, "update", "multiarch.openshift.io", "podplacementconfigs", ns));
      if (ns == scene().ns()) continue;
      for (const char* verb : {"get", "list", "watch", "update", "patch"}) {
        EXPECT_FALSE(May(account, verb, "", "pods", ns)) << verb;
        EXPECT_FALSE(May(account, verb, "multiarch.openshift.io", "podplacementconfigs", ns))
            << verb;
        EXPECT_FALSE(May(account, verb, "coordination.k8s.io", "leases", ns)) << verb;
      }
    }
    EXPECT_FALSE(May(account, "update", "admissionregistration.k8s.io",
                     "mutatingwebhookconfigurations", ""));
  }
  // The rights that it needs.
  auto controller = scene().Get(kDeployments, std::string(api::kShardControllerName));
  ASSERT_TRUE(controller);
  std::string account = kube::StringAt(*controller, "spec.template.spec.serviceAccountName");
  EXPECT_TRUE(May(account, "update", "", "pods", scene().ns()));
  EXPECT_TRUE(May(account, "list", "multiarch.openshift.io", "podplacementconfigs", scene().ns()));
}

TEST_F(ShardIsolationFlow, NoClusterRoleIsBoundToAShard) {
  Flow flow(scene(), "a shard to look at");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  auto bindings = scene().List(kClusterRoleBindings);
  ASSERT_TRUE(bindings) << bindings.error();
  for (const Json& binding : *bindings) {
    for (const Json& subject : binding.value("subjects", Json::array())) {
      EXPECT_NE(kube::StringAt(subject, "namespace"), scene().ns()) << binding;
    }
  }
}

TEST_F(ShardIsolationFlow, EachNamespaceHasItsOwnCertificateAuthorityWithoutItsKey) {
  auto other = Scene::Make(cluster(), "neighbour", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow(scene(), "a shard here")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady());
  Flow(**other, "a shard there")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady());
  if (HasFailure()) return;

  std::set<std::string> authorities;
  for (const std::string& name : {api::ShardWebhookConfigurationName(scene().ns()),
                                  api::ShardWebhookConfigurationName((*other)->ns()),
                                  std::string(api::kMutatingWebhookConfigurationName)}) {
    auto configuration = scene().Get(kMutatingWebhookConfigurations, name);
    ASSERT_TRUE(configuration) << configuration.error();
    authorities.insert(kube::StringAt((*configuration)["webhooks"][0], "clientConfig.caBundle"));
  }
  EXPECT_EQ(authorities.size(), 3u);

  // The namespace's Secret has the serving key for the webhook, and not the authority's key.
  auto secrets = scene().List(kSecrets);
  ASSERT_TRUE(secrets) << secrets.error();
  for (const Json& secret : *secrets) {
    const Json data = secret.value("data", Json::object());
    for (const auto& [key, value] : data.items()) {
      EXPECT_TRUE(key == "tls.crt" || key == "tls.key" || key == "ca.crt")
          << kube::StringAt(secret, "metadata.name") << " has " << key;
    }
  }
}

}  // namespace
}  // namespace e2e

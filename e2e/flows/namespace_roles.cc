// SPDX-License-Identifier: Apache-2.0
// The default ClusterRoles admin, edit and view include PodPlacementConfigs: namespace owners need
// no further rights, and get none outside of their namespace but to read the
// ClusterPodPlacementConfig.
#include <algorithm>

#include "e2e/framework/flow_fixture.h"
#include "kube/client/client_config.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Ok;
using kube::Result;

class NamespaceRolesFlow : public FlowFixture {
 protected:
  // Gives a ServiceAccount the ClusterRole in the scene's namespace.
  void Bind(const std::string& account, const std::string& role) {
    Json binding = {
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "RoleBinding"},
        {"metadata", {{"name", account + "-" + role}}},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}}};
    binding["subjects"] =
        Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", scene().ns()}}});
    auto created = scene().Create(kRoleBindings, binding);
    EXPECT_TRUE(created) << created.error();
  }
  // A client for a ServiceAccount with the ClusterRole `role` in the scene's namespace; without
  // any right if `role` is empty.
  std::unique_ptr<kube::Client> ClientOf(const std::string& role) {
    std::string account = "user-" + (role.empty() ? "nobody" : role);
    Json service_account = {
        {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", account}}}};
    auto created = scene().Create(kServiceAccounts, service_account);
    EXPECT_TRUE(created) << created.error();
    if (!role.empty()) Bind(account, role);

    kube::ApiRequest request{
        .method = kube::Method::kPost,
        .target = kServiceAccounts.Path(scene().ns(), account, "token"),
        .content_type = std::string(kube::kJson),
        .body =
            R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}})"};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    EXPECT_TRUE(answer) << answer.error();
    if (!answer) return nullptr;
    kube::ClientConfig config{.server = cluster().connection().server};
    config.tls.ca_pem = cluster().connection().tls.ca_pem;
    config.ca_file = cluster().connection().ca_file;
    config.token = kube::StringAt(*kube::ParseJson(answer->body), "status.token");
    auto client = kube::NewClient(cluster().io().get_executor(), cluster().clock(), config,
                                  {.user_agent = "e2e-user"});
    EXPECT_TRUE(client) << client.error();
    return client ? std::move(*client) : nullptr;
  }

  // Repeats `call` while it is forbidden: bindings and aggregated roles take effect a moment after
  // they are written.
  template <class T>
  Result<T> Eventually(const std::function<kube::Async<T>()>& call) {
    kube::TimePoint deadline = cluster().clock().Now() + cluster().timeout();
    while (true) {
      Result<T> result = cluster().Run(call());
      if (!FailedWith(result, kube::Code::kPermissionDenied) || cluster().clock().Now() > deadline)
        return result;
      cluster().Pause(50ms);
    }
  }

  kube::Unstructured Config(const std::string& name) {
    Json config = MakeConfig(name).Prefer("arm64", 10).Namespace(scene().ns()).Build();
    return kube::Unstructured(std::move(config));
  }
  Result<kube::Unstructured> Create(kube::Client& client, const std::string& name) {
    return Eventually<kube::Unstructured>(
        [&] { return kube::CreateObject(client, kConfigs, Config(name)); });
  }
  // Adds a rule to the config.
  kube::Async<kube::Unstructured> AddRule(kube::Client& client, const std::string& name) {
    Json rule = {{"name", "any"}, {"expression", "true"}};
    rule["platforms"] = Json::array({{{"architecture", "arm64"}, {"weight", 5}}});
    Json patch;
    patch["spec"]["celRules"] = Json::array({rule});
    kube::ObjectKey key{scene().ns(), name};
    return kube::PatchObject(client, kConfigs, key, kube::kMergePatch, std::move(patch));
  }
  template <class T>
  void ExpectRefused(const Result<T>& result, const std::string& what) {
    EXPECT_TRUE(FailedWith(result, kube::Code::kPermissionDenied)) << what;
  }
  // The rights of `client` in `ns`, sorted: the API server has no order.
  Json RulesOf(kube::Client& client, const std::string& ns) {
    kube::ApiRequest request{.method = kube::Method::kPost,
                             .target = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                             .content_type = std::string(kube::kJson),
                             .body = kube::DumpJson(Json{{"apiVersion", "authorization.k8s.io/v1"},
                                                         {"kind", "SelfSubjectRulesReview"},
                                                         {"spec", {{"namespace", ns}}}})};
    auto answer = cluster().Run(client.Call(std::move(request)));
    EXPECT_TRUE(answer) << answer.error();
    Result<Json> review = answer ? kube::ParseJson(answer->body) : Json::object();
    const Json* found = review ? kube::Find(*review, "status.resourceRules") : nullptr;
    Json rules = found == nullptr ? Json::array() : *found;
    std::sort(rules.begin(), rules.end());
    return rules;
  }
  Result<> ListConfigs(kube::Client& client) {
    auto listed = Eventually<kube::TypedList<kube::Unstructured>>(
        [&] { return kube::ListObjects(client, kConfigs, kube::ListOptions{.ns = scene().ns()}); });
    if (!listed) return listed.error();
    return Ok();
  }
};

TEST_F(NamespaceRolesFlow, AdminsAndEditorsWriteConfigs) {
  for (const char* role : {"admin", "edit"}) {
    SCOPED_TRACE(role);
    std::unique_ptr<kube::Client> user = ClientOf(role);
    ASSERT_NE(user, nullptr);
    auto created = Create(*user, "mine");
    ASSERT_TRUE(created) << created.error();
    Json patch = {{"spec", {{"priority", 7}}}};
    kube::ObjectKey key{scene().ns(), "mine"};
    auto changed =
        cluster().Run(kube::PatchObject(*user, kConfigs, key, kube::kMergePatch, std::move(patch)));
    EXPECT_TRUE(changed) << changed.error();
    Result<> listed = ListConfigs(*user);
    EXPECT_TRUE(listed) << listed.error();
    auto deleted = cluster().Run(kube::DeleteObject(*user, kConfigs, key));
    EXPECT_TRUE(deleted) << deleted.error();
    // Not in another namespace.
    auto elsewhere =
        cluster().Run(kube::ListObjects(*user, kConfigs, kube::ListOptions{.ns = "default"}));
    EXPECT_TRUE(FailedWith(elsewhere, kube::Code::kPermissionDenied));
  }
}

// An expression can cost the API server seconds of CPU for each pod.
TEST_F(NamespaceRolesFlow, RulesNeedARightThatAdminsOfANamespaceDoNotHave) {
  std::unique_ptr<kube::Client> user = ClientOf("admin");
  ASSERT_NE(user, nullptr);
  auto created = Create(*user, "mine");
  ASSERT_TRUE(created) << created.error();
  auto refused = cluster().Run(AddRule(*user, "mine"));
  ASSERT_TRUE(FailedWith(refused, kube::Code::kPermissionDenied));
  EXPECT_NE(refused.error().message().find("podplacementconfigs-celrules"), std::string::npos)
      << refused.error();

  Bind("user-admin", "podplacementconfigs-celrules");
  auto changed = Eventually<kube::Unstructured>([&] { return AddRule(*user, "mine"); });
  EXPECT_TRUE(changed) << changed.error();
}

// "No rights beyond your namespace", but to read the ClusterPodPlacementConfig.
TEST_F(NamespaceRolesFlow, AnAdminOfOneNamespaceSeesTheClustersConfigAndNoOtherNamespace) {
  auto other = Scene::Make(cluster(), "neighbour", Json::object());
  ASSERT_TRUE(other) << other.error();
  for (Scene* with_shard : {&scene(), other->get()}) {
    Flow(*with_shard, "a shard")
        .Do(e2e::Create(MakeConfig("only").Prefer("arm64", 10)))
        .Await(ShardReady());
  }
  std::unique_ptr<kube::Client> admin = ClientOf("admin");
  std::unique_ptr<kube::Client> nobody = ClientOf("");
  if (HasFailure()) return;
  Result<> listed = ListConfigs(*admin);
  ASSERT_TRUE(listed) << listed.error();

  const kube::ObjectKey cluster_config{"", std::string(api::kClusterConfigName)};
  auto seen = cluster().Run(kube::GetObject(*admin, kClusterConfigs, cluster_config));
  EXPECT_TRUE(seen) << seen.error();
  ExpectRefused(
      cluster().Run(kube::PatchObject(*admin, kClusterConfigs, cluster_config, kube::kMergePatch,
                                      Json{{"spec", {{"logVerbosity", "Trace"}}}})),
      "change the ClusterPodPlacementConfig");
  ExpectRefused(cluster().Run(kube::DeleteObject(*admin, kClusterConfigs, cluster_config)),
                "delete the ClusterPodPlacementConfig");
  for (const std::string& ns : {(*other)->ns(), cluster().operator_namespace()}) {
    for (const Resource& resource : {kConfigs, kPods, kSecrets, kLeases, kDeployments, kConfigMaps,
                                     kServiceAccounts, kRoles, kEvents}) {
      ExpectRefused(cluster().Run(kube::ListObjects(*admin, resource, kube::ListOptions{.ns = ns})),
                    std::string(resource.plural) + " in " + ns);
    }
  }
  for (const Resource& resource : {kMutatingWebhookConfigurations, kClusterRoles, kNamespaces})
    ExpectRefused(cluster().Run(kube::ListObjects(*admin, resource, kube::ListOptions())),
                  std::string(resource.plural));

  // In other namespaces an admin has every user's rights: among the operator's rules, that one.
  Json rules = RulesOf(*admin, (*other)->ns());
  EXPECT_EQ(rules, RulesOf(*nobody, (*other)->ns()));
  Json ours = Json::array();
  for (const Json& rule : rules) {
    if (kube::DumpJson(rule["apiGroups"]).find(api::kGroup) != std::string::npos)
      ours.push_back(rule);
  }
  ASSERT_EQ(ours.size(), 1u) << ours;
  EXPECT_EQ(ours[0]["resources"], Json::array({"clusterpodplacementconfigs"})) << ours;
  EXPECT_EQ(ours[0]["resourceNames"], Json::array({"cluster"})) << ours;
  EXPECT_EQ(ours[0]["verbs"], Json::array({"get"})) << ours;
}

TEST_F(NamespaceRolesFlow, ViewersReadConfigs) {
  std::unique_ptr<kube::Client> user = ClientOf("view");
  ASSERT_NE(user, nullptr);
  Result<> listed = ListConfigs(*user);
  EXPECT_TRUE(listed) << listed.error();
  auto created = cluster().Run(kube::CreateObject(*user, kConfigs, Config("mine")));
  EXPECT_TRUE(FailedWith(created, kube::Code::kPermissionDenied));
}

}  // namespace
}  // namespace e2e

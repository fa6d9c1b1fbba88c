// SPDX-License-Identifier: Apache-2.0
// Private images of pods without pull secrets: a kubelet's credential provider with a token of the
// pod's service account, and a registry of a cloud (stand-ins, by their real names) with the
// controller's own identity.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "inspection/testing/connect_proxy.h"
#include "inspection/testing/fake_clouds.h"
#include "inspection/testing/fake_registry.h"
#include "kube/client/access_review.h"
#include "kube/client/typed.h"
#include "kube/crypto/certificates.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "operator/deploy/manifests.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::FakeRegistry;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kAudience[] = "registry.example.com";
constexpr char kComponent[] = "service-account-tokens";
constexpr char kClusterWide[] = "service-account-tokens-cluster-wide";
constexpr char kTokenObjects[] = "pod-placement-controller-tokens";
constexpr char kAudiences[] = "service-account-token-audiences";
constexpr char kEnforce[] = "pod-security.kubernetes.io/enforce";
const std::string kError(api::kReasonInspectionError);

class CredentialsWithoutSecretsFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    // --node-files refuses the hidden folder in the path of TEST_TMPDIR, and the operator's own
    // volume is at /tmp.
    folder_ = "/var/tmp/" + scene().ns();
    std::filesystem::create_directories(folder_ + "/bin");
    auto found = cluster().Run(kube::GetObject(cluster().client(), kDeployments, Operator()));
    ASSERT_TRUE(found) << found.error();
    const Json& container = found->body()["spec"]["template"]["spec"]["containers"][0];
    args_ = container["args"];
    env_ = container["env"];
  }

  void TearDown() override {
    Result<> set = SetOperator({}, Json::array());
    EXPECT_TRUE(set) << set.error();
    Flow(scene(), "the operator's own flags")
        .Await(ControllerRuns("--service-account-tokens", false))
        .Await(ControllerRuns("--cloud-registries", false));
    for (const auto& [resource, key] : created_) {
      Result<> deleted = cluster().Run(kube::DeleteObject(cluster().client(), resource, key));
      EXPECT_TRUE(deleted) << deleted.error();
    }
    Result<> restored = UseClusterConfig(DefaultClusterConfig());
    EXPECT_TRUE(restored) << restored.error();
    std::filesystem::remove_all(folder_);
    FlowFixture::TearDown();
  }

  kube::ObjectKey Operator() {
    return {cluster().operator_namespace(), "multiarch-tuning-operator"};
  }

  // Restarts the operator with more flags and variables.
  Result<> SetOperator(const std::vector<std::string>& flags, const Json& variables) {
    Json args = args_;
    for (const std::string& flag : flags) args.push_back(flag);
    Json env = env_;
    env.insert(env.end(), variables.begin(), variables.end());
    const std::string path = "/spec/template/spec/containers/0/";
    Json patch = Json::array({{{"op", "replace"}, {"path", path + "args"}, {"value", args}},
                              {{"op", "replace"}, {"path", path + "env"}, {"value", env}}});
    auto patched = cluster().Run(kube::PatchObject(cluster().client(), kDeployments, Operator(),
                                                   kube::kJsonPatch, std::move(patch)));
    if (!patched) return patched.error();
    return Ok();
  }

  // All replicas of the controller run, with a flag that begins like this or without.
  Condition ControllerRuns(const std::string& flag, bool with) {
    return {
        .name = "the controller runs " + std::string(with ? "with " : "without ") + flag,
        .holds = [this, flag, with](Scene&) -> Result<> {
          kube::ObjectKey key{cluster().operator_namespace(), std::string(api::kControllerName)};
          auto found = cluster().Run(kube::GetObject(cluster().client(), kDeployments, key));
          if (!found) return found.error();
          const Json& body = found->body();
          const Json args = body["spec"]["template"]["spec"]["containers"][0]["args"];
          bool has = std::any_of(args.begin(), args.end(), [&](const Json& arg) {
            return arg.get<std::string>().starts_with(flag);
          });
          int64_t replicas = kube::IntAt(body, "spec.replicas", 1);
          bool rolled_out = kube::IntAt(body, "status.observedGeneration") >=
                            kube::IntAt(body, "metadata.generation");
          for (const char* count :
               {"status.updatedReplicas", "status.replicas", "status.availableReplicas"})
            rolled_out &= kube::IntAt(body, count) == replicas;
          if (has == with && rolled_out) return Ok();
          return Error::NotFound("it is being replaced");
        }};
  }

  Result<> CreateUntilTheEnd(const kube::Resource& resource, const Json& object) {
    auto created =
        cluster().Run(kube::CreateObject(cluster().client(), resource, kube::Unstructured(object)));
    if (!created) return created.error();
    created_.emplace_back(resource, kube::KeyOf(*created));
    return Ok();
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  Step CreateAccount(const std::string& name, const Json& annotations) {
    return Create(kServiceAccounts, {{"apiVersion", "v1"},
                                     {"kind", "ServiceAccount"},
                                     {"metadata", {{"name", name}, {"annotations", annotations}}}});
  }

  std::string folder_;
  Json args_;
  Json env_;
  std::vector<std::pair<kube::Resource, kube::ObjectKey>> created_;
};

class AccountTokensFlow : public CredentialsWithoutSecretsFlow {
 protected:
  void SetUp() override {
    CredentialsWithoutSecretsFlow::SetUp();
    Enforce("privileged");
  }
  void TearDown() override {
    CredentialsWithoutSecretsFlow::TearDown();
    Enforce("restricted");
  }

  // Files of the node are volumes that `restricted` forbids.
  void Enforce(const char* standard) {
    Json patch = {{"metadata", {{"labels", {{kEnforce, standard}}}}}};
    kube::ObjectKey key{"", cluster().operator_namespace()};
    auto patched = cluster().Run(kube::PatchObject(cluster().client(), kube::kNamespaces, key,
                                                   kube::kMergePatch, std::move(patch)));
    EXPECT_TRUE(patched) << patched.error();
  }

  // The objects of the option, without its patch of the operator.
  Result<> CreateRights() {
    deploy::ManifestOptions options{.ns = cluster().operator_namespace(),
                                    .images = {},
                                    .components = {kComponent, kClusterWide}};
    auto objects = operator_::LoadManifests(options);
    if (!objects) return objects.error();
    int created = 0;
    for (const kube::Unstructured& object : *objects) {
      if (object.metadata().name() != kTokenObjects) continue;
      auto resource = deploy::ResourceOfObject(object);
      if (!resource) return resource.error();
      Result<> done = CreateUntilTheEnd(*resource, object.body());
      if (!done) return done;
      ++created;
    }
    if (created != 4) return Error::Internal(std::to_string(created) + " objects of the option");
    return CreateUntilTheEnd(
        kConfigMaps,
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", {{"name", kAudiences}, {"namespace", cluster().operator_namespace()}}},
         {"data", {{"audiences", std::string("other.example.com, ") + kAudience + "\n"}}}});
  }

  // A provider whose password is an annotation of the service account. It keeps its last request.
  void WriteProvider(const std::string& host) {
    std::string program = Write(
        "bin/annotated",
        "#!/bin/sh\nrequest=$(cat)\nprintf '%s' \"$request\" > " + folder_ + "/request\n" +
            R"sh(password=$(printf '%s' "$request" |)sh" +
            R"sh( sed 's/.*"example.com\/password":"\([^"]*\)".*/\1/'))sh" + "\n" +
            R"sh(printf '{"kind":"CredentialProviderResponse",)sh" +
            R"sh("apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry",)sh" +
            R"sh("auth":{")sh" + host + R"sh(":{"username":"u","password":"%s"}}}' "$password")sh" +
            "\n");
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    Write("providers.yaml",
          "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"
          "- name: annotated\n  matchImages: ['" +
              host +
              "']\n  defaultCacheDuration: 1h\n"
              "  apiVersion: credentialprovider.kubelet.k8s.io/v1\n"
              "  tokenAttributes:\n    serviceAccountTokenAudience: " +
              kAudience +
              "\n    cacheType: ServiceAccount\n    requireServiceAccount: true\n"
              "    requiredServiceAccountAnnotationKeys: [example.com/password]\n");
  }

  // `kubectl create token` of account "puller" as the cluster controller.
  Condition TokenIsRefused(std::vector<std::string> flags, const std::string& why) {
    std::string name = "a token with " + flags.front() + " is refused: " + why;
    flags.insert(flags.begin(),
                 {"create", "token", "puller", "--namespace=" + scene().ns(),
                  "--as=system:serviceaccount:" + cluster().operator_namespace() + ":" +
                      std::string(api::kControllerName),
                  "--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig()});
    std::string kubectl = std::string(std::getenv("KUBEBUILDER_ASSETS")) + "/kubectl";
    return {.name = name, .holds = [kubectl, flags, why](Scene&) -> Result<> {
              auto finished = RunToEnd({.path = kubectl, .args = flags});
              if (!finished) return finished.error();
              if (finished->status != 0 && finished->output.find(why) != std::string::npos)
                return Ok();
              return Error::NotFound(finished->status == 0 ? "it was created" : finished->output);
            }};
  }

  // The user that the token of the last request is of, for this audience; "" if it is of none.
  std::string UserOfToken(const std::string& audience) {
    std::ifstream file(folder_ + "/request");
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    auto request = kube::ParseJson(text);
    EXPECT_TRUE(request) << "no request of the provider";
    if (!request) return "";
    Json spec = {{"token", kube::StringAt(*request, "serviceAccountToken")}};
    if (!audience.empty()) spec["audiences"] = Json::array({audience});
    auto review = cluster().Run(
        kube::PostReview(cluster().client(), kube::kTokenReviews, std::move(spec), 10s));
    EXPECT_TRUE(review) << review.error();
    return review ? kube::StringAt(*review, "status.user.username") : "";
  }
};

TEST_F(AccountTokensFlow, AProviderServesThePodsOfAnAccount) {
  FakeRegistry registry(cluster().io().get_executor(), {});
  registry.PutIndex("team/app", "1", {{"linux", "arm64"}, {"linux", "ppc64le"}});
  registry.RequireBasic("u", "secret");
  const std::string image = registry.host() + "/team/app:1";
  WriteProvider(registry.host());
  Result<> done = CreateRights();
  ASSERT_TRUE(done) << done.error();
  done = SetOperator({"--service-account-tokens",
                      "--node-files=credential-provider-config=" + folder_ +
                          "/providers.yaml,credential-provider-bin-dir=" + folder_ + "/bin"},
                     Json::array());
  ASSERT_TRUE(done) << done.error();
  Flow flow(scene(), "a provider with tokens of service accounts");
  flow.Await(ControllerRuns("--service-account-tokens", true), 120s);
  done =
      UseClusterConfig(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "60s"),
                       "[[registry]]\nlocation = \"" + registry.host() + "\"\ninsecure = true\n");
  ASSERT_TRUE(done) << done.error();
  auto pod = [&](const std::string& name, const std::string& account) {
    return MakePod(name).Image(image).Set("/spec/serviceAccountName", account);
  };
  const std::string audience = std::string("--audience=") + kAudience;

  flow.Do(CreateAccount("puller", {{"example.com/password", "secret"}}))
      .Do(CreateAccount("mistaken", {{"example.com/password", "guess"}}))
      .Do(CreateAccount("plain", Json::object()))
      .Do(Create(pod("web", "puller")))
      .Await(Requires("web", {"arm64", "ppc64le"}))
      .Do(Create(pod("mistaken", "mistaken")))
      .Do(Create(pod("plain", "plain")))
      .Await(EventAbout("mistaken", kError, {image, "401", "1 credential"}))
      .Await(EventAbout("plain", kError, {image, "401", "0 credentials"}))
      .Do(Create(pod("again", "puller")))
      .Await(Requires("again", {"arm64", "ppc64le"}))
      // The policy limits what the right is for.
      .Await(TokenIsRefused({audience, "--duration=600s"}, "must be bound to a pod"))
      .Await(
          TokenIsRefused({"--duration=600s", "--bound-object-kind=Pod", "--bound-object-name=web"},
                         "does not name this audience"))
      .Await(TokenIsRefused(
          {audience, "--duration=3600s", "--bound-object-kind=Pod", "--bound-object-name=web"},
          "within ten minutes"))
      .Never(GateRemovedWithoutItsDecision());
  // Of the account whose provider was run last, and no token for the API server.
  EXPECT_EQ(UserOfToken(kAudience), "system:serviceaccount:" + scene().ns() + ":mistaken");
  EXPECT_EQ(UserOfToken(""), "");
}

constexpr char kSts[] = "sts.us-east-1.amazonaws.com";
constexpr char kEcr[] = "api.ecr.us-east-1.amazonaws.com";
constexpr char kCloudRegistry[] = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

class CloudRegistriesFlow : public CredentialsWithoutSecretsFlow {
 protected:
  // A policy in place of EKS's webhook, which adds to pods of an annotated account.
  Result<> CreateIdentityPolicy(const std::string& token_file, const std::string& metadata_host) {
    std::string patches;
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"AWS_ROLE_ARN", inspection::kFakeRole},
             {"AWS_REGION", "us-east-1"},
             {"AWS_WEB_IDENTITY_TOKEN_FILE", token_file},
             {"GCE_METADATA_HOST", metadata_host}}) {
      if (!patches.empty()) patches += ", ";
      patches +=
          "JSONPatch{op: 'add', path: '/spec/containers/0/env/-', value: "
          "Object.spec.containers.env{name: '" +
          name + "', value: '" + value + "'}}";
    }
    Json rule = {{"apiGroups", {""}},
                 {"apiVersions", {"v1"}},
                 {"operations", {"CREATE"}},
                 {"resources", {"pods"}}};
    Json condition = {{"name", "controller"},
                      {"expression", "object.spec.serviceAccountName == '" +
                                         std::string(api::kControllerName) + "'"}};
    Json mutation = {{"patchType", "JSONPatch"},
                     {"jsonPatch", {{"expression", "[" + patches + "]"}}}};
    Json policy = {{"apiVersion", kube::kMutatingAdmissionPolicies.ApiVersion()},
                   {"kind", "MutatingAdmissionPolicy"},
                   {"metadata", {{"name", "identity-of-eks"}}}};
    policy["spec"]["matchConstraints"]["resourceRules"] = Json::array({rule});
    policy["spec"]["matchConditions"] = Json::array({condition});
    policy["spec"]["mutations"] = Json::array({mutation});
    policy["spec"]["reinvocationPolicy"] = "Never";
    policy["spec"]["failurePolicy"] = "Fail";
    Result<> created = CreateUntilTheEnd(kube::kMutatingAdmissionPolicies, policy);
    if (!created) return created;
    return CreateUntilTheEnd(kube::kMutatingAdmissionPolicyBindings,
                             {{"apiVersion", kube::kMutatingAdmissionPolicyBindings.ApiVersion()},
                              {"kind", "MutatingAdmissionPolicyBinding"},
                              {"metadata", {{"name", "identity-of-eks"}}},
                              {"spec", {{"policyName", "identity-of-eks"}}}});
  }
  // API servers learn of a policy with a delay, and the controller's pods must have its variables.
  // By a pod of an account with the same name.
  static Condition IdentityPolicyApplies() {
    return {"pods of the controller get an identity", [](Scene& scene) -> Result<> {
              Json pod = MakePod("identity").Image("example.com/app:1").Build();
              pod["spec"]["serviceAccountName"] = api::kControllerName;
              pod["spec"]["containers"][0]["env"] = Json::array({{{"name", "A"}}});
              kube::ApiRequest request{.method = kube::Method::kPost,
                                       .target = kPods.Path(scene.ns()) + "?dryRun=All",
                                       .content_type = std::string(kube::kJson),
                                       .body = kube::DumpJson(pod)};
              auto answer = scene.cluster().Run(scene.cluster().client().Call(request));
              if (!answer) return answer.error();
              if (answer->body.find("AWS_ROLE_ARN") != std::string::npos) return Ok();
              return Error::NotFound("the API server does not apply the policy yet");
            }};
  }
};

TEST_F(CloudRegistriesFlow, TheControllersIdentityServesPodsWithoutSecrets) {
  // One stands in for EKS's webhook.
  if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  auto executor = cluster().io().get_executor();
  const kube::KeyPair ca = *kube::NewCertificateAuthority("clouds", 1h, kube::RealClock());
  const kube::KeyPair serving =
      *kube::NewServingCertificate(ca, {kSts, kEcr, kCloudRegistry}, 1h, kube::RealClock());
  inspection::FakeClouds clouds(executor, serving);
  FakeRegistry registry(executor, {.certificate = serving});
  registry.PutIndex("team/app", "1", {{"linux", "arm64"}, {"linux", "s390x"}});
  registry.RequireBasic("AWS", inspection::kFakeEcrPassword);
  inspection::ConnectProxy proxy(executor);
  proxy.Route(kSts, clouds.port());
  proxy.Route(kEcr, clouds.port());
  proxy.Route(kCloudRegistry, registry.host().substr(registry.host().find(':') + 1));

  const std::string bundle = "e2e-cloud-authorities";
  Result<> done = CreateUntilTheEnd(
      kConfigMaps, {{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", bundle}, {"namespace", cluster().operator_namespace()}}},
                    {"data", {{"ca-bundle.crt", ca.certificate_pem}}}});
  ASSERT_TRUE(done) << done.error();
  done = CreateIdentityPolicy(Write("token", inspection::kFakePodToken), clouds.metadata_host());
  ASSERT_TRUE(done) << done.error();
  Flow flow(scene(), "a registry of a cloud");
  flow.Do(CreateAccount(std::string(api::kControllerName), Json::object()))
      .Await(IdentityPolicyApplies());
  Json variable = {{"name", "HTTPS_PROXY"}, {"value", proxy.url()}};
  done = SetOperator(
      {"--cloud-registries=*.dkr.ecr.us-east-1.amazonaws.com,gcr.io",
       "--controller-annotations=eks.amazonaws.com/role-arn=" + std::string(inspection::kFakeRole)},
      Json::array({variable}));
  ASSERT_TRUE(done) << done.error();
  flow.Await(ControllerRuns("--cloud-registries", true), 120s);
  // A cluster without any configuration of registries. The metadata server needs no authority; that
  // of the registry is not known, so the image cannot be read.
  auto config = MakeClusterConfig().ForNamespaces(kSceneLabel, "true");
  config.Set("/spec/inspectionRetryPeriod", "60s");
  done = UseClusterConfig(config);
  ASSERT_TRUE(done) << done.error();
  flow.Do(Create(MakePod("google").Image("gcr.io/team/app:1")))
      .Await(EventAbout("google", kError, {"gcr.io/team/app:1"}));
  EXPECT_EQ(clouds.log(), std::vector<std::string>{
                              clouds.metadata_host() +
                              " /computeMetadata/v1/instance/service-accounts/default/token"});
  done = UseClusterConfig(DefaultClusterConfig()
                              .Set("/spec/inspectionRetryPeriod", "60s")
                              .Set("/spec/caBundleConfigMapRef/name", bundle));
  ASSERT_TRUE(done) << done.error();
  const std::string image = std::string(kCloudRegistry) + "/team/app:1";
  const std::string other = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app:1";
  flow.Do(Create(MakePod("web").Image(image)))
      .Await(Requires("web", {"arm64", "s390x"}))
      // Another region is not allowed: nothing is exchanged for it.
      .Do(Create(MakePod("other").Image(other)))
      .Await(EventAbout("other", kError, {other}))
      .Never(GateRemovedWithoutItsDecision());
  kube::ObjectKey account{cluster().operator_namespace(), std::string(api::kControllerName)};
  auto found = cluster().Run(kube::GetObject(cluster().client(), kServiceAccounts, account));
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->body()["metadata"]["annotations"]["eks.amazonaws.com/role-arn"],
            inspection::kFakeRole);
  // With other authorities, Google's token may have been renewed.
  std::vector<std::string> calls = clouds.log();
  std::erase_if(calls,
                [&](const std::string& call) { return call.starts_with(clouds.metadata_host()); });
  EXPECT_EQ(calls, (std::vector<std::string>{std::string(kSts) + " /", std::string(kEcr) + " /"}));
}

}  // namespace
}  // namespace e2e

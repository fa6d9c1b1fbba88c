// SPDX-License-Identifier: Apache-2.0
#include "api/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/cluster_pod_placement_config.h"
#include "api/excluded_namespaces.h"
#include "api/known_images.h"
#include "kube/types/kinds.h"
#include "operator/objects/cluster_objects.h"
#include "operator/objects/metadata.h"
#include "operator/objects/shard_objects.h"

namespace operator_ {
namespace {

using kube::Json;

const OperandOptions kOptions{.ns = "ops",
                              .ns_uid = "u",
                              .webhook_image = "r.io/webhook:1",
                              .shard_image = "r.io/shard:1",
                              .controller_image = "r.io/controller:1",
                              .architectures = {"amd64"}};

Json Find(const DesiredObjects& objects, const kube::Resource& resource, std::string_view name) {
  for (const DesiredObject& object : objects) {
    if (object.resource.kind == resource.kind && object.Key().name == name) return object.body;
  }
  ADD_FAILURE() << "no " << resource.kind << " " << name;
  return {};
}

std::vector<std::string> ArgsOf(const Json& deployment) {
  return deployment["spec"]["template"]["spec"]["containers"][0]["args"];
}

TEST(ClusterObjectsTest, TheControllerKnowsTheExcludedNamespaces) {
  OperandOptions options = kOptions;
  options.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*,hypershift-*");
  const std::string flag = "--excluded-namespaces=openshift-*,hypershift-*";
  for (bool excludes : {true, false}) {
    DesiredObjects objects = ClusterObjects({}, excludes ? options : kOptions);
    auto args = ArgsOf(Find(objects, kube::kDeployments, "pod-placement-controller"));
    EXPECT_EQ(std::count(args.begin(), args.end(), flag), excludes ? 1 : 0);
  }
}

TEST(ClusterObjectsTest, TheControllersIdentityInACloud) {
  const char kController[] = "pod-placement-controller";
  auto labels = [&](const OperandOptions& options) {
    Json deployment = Find(ClusterObjects({}, options), kube::kDeployments, kController);
    return deployment["spec"]["template"]["metadata"]["labels"];
  };
  OperandOptions options = kOptions;
  options.cloud_registries = "gcr.io,team.azurecr.io";
  options.service_account_tokens = true;
  options.controller_annotations = {{"azure.workload.identity/client-id", "c"}};
  DesiredObjects objects = ClusterObjects({}, options);
  auto args = ArgsOf(Find(objects, kube::kDeployments, kController));
  for (const char* flag : {"--cloud-registries=gcr.io,team.azurecr.io", "--service-account-tokens"})
    EXPECT_EQ(std::count(args.begin(), args.end(), flag), 1) << flag;
  EXPECT_EQ(labels(options)["azure.workload.identity/use"], "true");
  Json account = Find(objects, kube::kServiceAccounts, kController);
  EXPECT_EQ(account["metadata"]["annotations"], Json({{"azure.workload.identity/client-id", "c"}}));
  Json others = Find(objects, kube::kServiceAccounts, "pod-placement-web-hook");
  EXPECT_FALSE(others["metadata"].contains("annotations")) << "they do not call clouds";

  options.cloud_registries = "gcr.io";
  EXPECT_FALSE(labels(options).contains("azure.workload.identity/use"));
  for (const std::string& arg :
       ArgsOf(Find(ClusterObjects({}, kOptions), kube::kDeployments, kController))) {
    EXPECT_EQ(arg.find("--cloud-registries"), std::string::npos);
    EXPECT_EQ(arg.find("--service-account-tokens"), std::string::npos);
  }
}

TEST(ShardObjectsTest, AllObjectsAreLabelledAndInTheNamespace) {
  for (const DesiredObject& object : ShardObjects("shop", {}, kOptions)) {
    EXPECT_EQ(object.Key().ns, "shop") << object.body;
    EXPECT_EQ(object.body["metadata"]["labels"]["app.kubernetes.io/managed-by"],
              "multiarch-tuning-operator");
    EXPECT_EQ(object.body["metadata"]["labels"]["multiarch.openshift.io/shard-namespace"], "shop");
    // A PodPlacementConfig as owner would let the garbage collector choose the order; the
    // operator's namespace goes last.
    Json owner = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"name", "ops"}, {"uid", "u"}};
    EXPECT_EQ(object.body["metadata"]["ownerReferences"], Json::array({owner})) << object.body;
  }
}

TEST(OperandObjectsTest, OnlyNetworkPoliciesCanBeUnwanted) {
  for (bool with : {true, false}) {
    OperandOptions options = kOptions;
    options.network_policies = with;
    for (const DesiredObjects& objects :
         {ShardObjects("shop", {}, options), ClusterObjects({}, options)}) {
      int policies = 0;
      for (const DesiredObject& object : objects) {
        bool policy = object.resource.kind == kube::kNetworkPolicies.kind;
        EXPECT_EQ(object.wanted, with || !policy) << object.body;
        policies += policy;
      }
      EXPECT_EQ(policies, 2);
    }
  }
}

TEST(ClusterObjectsTest, TheGlobalPullSecretIsTheOnlyOneInItsNamespaceThatIsWatched) {
  DesiredObjects rights = GlobalPullSecretRights("all", kOptions);
  Json rule = {{"apiGroups", {""}},
               {"resources", {"secrets"}},
               {"resourceNames", {"all"}},
               {"verbs", {"list", "watch"}}};
  EXPECT_EQ(Find(rights, kube::kRoles, "pod-placement-global-pull-secret")["rules"],
            Json::array({rule}));
  Json binding = Find(rights, kube::kRoleBindings, "pod-placement-global-pull-secret");
  EXPECT_EQ(binding["subjects"][0]["name"], "pod-placement-controller");
  EXPECT_EQ(binding["metadata"]["namespace"], "ops");
}

TEST(ClusterObjectsTest, RightsForTemplatesAreBoundOnlyForThePluginsThatNeedThem) {
  auto wanted = [](bool jobs, bool report, bool patch) {
    std::set<std::string> names;
    for (const DesiredObject& object : TemplateRights(
             {.suspended_jobs = jobs}, {.report = report, .patch_templates = patch}, kOptions)) {
      EXPECT_EQ(object.body["subjects"][0]["name"], "pod-placement-controller");
      EXPECT_EQ(object.body["roleRef"]["name"], object.body["metadata"]["name"]);
      if (object.wanted) names.insert(object.Key().name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(wanted(false, false, false), Names());
  EXPECT_EQ(wanted(true, false, false), Names{"pod-placement-suspended-jobs"});
  EXPECT_EQ(wanted(false, true, false), Names{"pod-placement-daemon-set-report"});
  EXPECT_EQ(wanted(false, false, true), Names{"pod-placement-daemon-set-templates"});
}

// I6
TEST(ShardObjectsTest, TheShardMayDoNothingBeyondPodsConfigsEventsAndItsLease) {
  Json role =
      Find(ShardObjects("shop", {}, kOptions), kube::kRoles, "pod-placement-shard-controller");
  std::set<std::string> resources;
  for (const Json& rule : role["rules"]) {
    for (const Json& resource : rule["resources"]) resources.insert(resource.get<std::string>());
    for (const Json& verb : rule["verbs"]) EXPECT_NE(verb, "*");
    if (rule["resources"][0] == "leases" && rule["verbs"] != Json::array({"create"})) {
      bool own = rule["resourceNames"] == Json::array({"pod-placement-shard-controller"});
      bool announcements = rule["resourceNames"] == Json::array({"pod-placement-announcements"}) &&
                           rule["verbs"] == Json::array({"get"});
      EXPECT_TRUE(own || announcements) << rule;
    }
  }
  EXPECT_EQ(resources, (std::set<std::string>{"pods", "podplacementconfigs", "events", "leases"}));
}

// The owner of a namespace cannot give a program the right to review tokens.
TEST(ShardObjectsTest, MetricsOfAShardArePlain) {
  for (const DesiredObject& object : ShardObjects("shop", {}, kOptions)) {
    if (object.resource.kind != kube::kDeployments.kind) continue;
    EXPECT_EQ(kube::DumpJson(object.body).find("8443"), std::string::npos) << object.body;
    Json ports = object.body["spec"]["template"]["spec"]["containers"][0]["ports"];
    EXPECT_EQ(ports[0]["name"], "metrics");
    EXPECT_EQ(ports[0]["containerPort"], 8080);
  }
}

TEST(ShardObjectsTest, TheWebhookHasNoPermissions) {
  for (const DesiredObject& object : ShardObjects("shop", {}, kOptions)) {
    if (object.resource.kind != kube::kRoleBindings.kind) continue;
    ASSERT_EQ(object.body["subjects"].size(), 1u);
    EXPECT_EQ(object.body["subjects"][0]["name"], "pod-placement-shard-controller");
  }
}

TEST(ShardObjectsTest, BothBinariesServeTheirNamespaceWithTheClustersVerbosity) {
  DesiredObjects objects = ShardObjects("shop", {.log_verbosity = "Debug"}, kOptions);
  EXPECT_EQ(
      ArgsOf(Find(objects, kube::kDeployments, "pod-placement-shard-controller")),
      (std::vector<std::string>{"--namespace=shop", "--lease-owner=ops/u",
                                "--pod-events-file=/etc/pod-placement/settings/pod-events",
                                "--log-verbosity-file=/etc/pod-placement/settings/log-verbosity"}));
  EXPECT_EQ(
      ArgsOf(Find(objects, kube::kDeployments, "pod-placement-shard-web-hook")),
      (std::vector<std::string>{"--gate=local", "--namespace=shop", "--operator-namespace=ops",
                                "--cert-dir=/etc/webhook/certs",
                                "--log-verbosity-file=/etc/pod-placement/settings/log-verbosity"}));
}

// A change of the verbosity restarts nothing.
TEST(ShardObjectsTest, TheVerbosityIsInTheSettingsAlone) {
  DesiredObjects normal = ShardObjects("shop", {}, kOptions);
  DesiredObjects debug = ShardObjects("shop", {.log_verbosity = "Debug"}, kOptions);
  ASSERT_EQ(normal.size(), debug.size());
  for (size_t i = 0; i < normal.size(); ++i) {
    bool settings = normal[i].Key().name == "pod-placement-settings";
    EXPECT_EQ(normal[i].body != debug[i].body, settings) << normal[i].body;
  }
  Json settings = Find(debug, kube::kConfigMaps, "pod-placement-settings");
  EXPECT_EQ(settings["data"], (Json{{"log-verbosity", "Debug"}, {"pod-events", "All"}}));
  for (const char* name : {"pod-placement-shard-controller", "pod-placement-shard-web-hook"}) {
    Json pod = Find(debug, kube::kDeployments, name)["spec"]["template"]["spec"];
    Json volume = pod["volumes"].back();
    EXPECT_EQ(volume["configMap"]["name"], "pod-placement-settings");
    EXPECT_EQ(volume["configMap"]["optional"], true);
    Json mount = pod["containers"][0]["volumeMounts"].back();
    EXPECT_EQ(mount["name"], volume["name"]);
    EXPECT_EQ(mount["mountPath"], "/etc/pod-placement/settings");
  }
}

TEST(ClusterObjectsTest, OnlyTheControllerGetsTheProxyAsOnlyItCallsRegistries) {
  OperandOptions options = kOptions;
  options.proxy_environment = {{"HTTPS_PROXY", "http://proxy:3128"}};
  DesiredObjects objects = ClusterObjects({}, options);
  const Json variable = {{"name", "HTTPS_PROXY"}, {"value", "http://proxy:3128"}};
  Json controller = Find(objects, kube::kDeployments, "pod-placement-controller");
  const Json& env = controller["spec"]["template"]["spec"]["containers"][0]["env"];
  EXPECT_EQ(std::count(env.begin(), env.end(), variable), 1) << env;
  Json webhook = Find(objects, kube::kDeployments, "pod-placement-web-hook");
  EXPECT_FALSE(webhook["spec"]["template"]["spec"]["containers"][0].contains("env"));
}

TEST(ClusterObjectsTest, TheWebhookWatchesFactsOnlyIfItPlacesPods) {
  for (bool known_images : {false, true}) {
    api::ClusterPodPlacementConfigSpec spec;
    if (known_images) spec.known_images = api::kPlaceKnownImages;
    DesiredObjects objects = ClusterObjects(spec, kOptions);
    Json webhook = Find(objects, kube::kDeployments, "pod-placement-web-hook");
    const Json args = ArgsOf(webhook);
    EXPECT_EQ(std::count(args.begin(), args.end(), "--known-images"), known_images ? 1 : 0);
    Json policy = Find(objects, kube::kNetworkPolicies, "pod-placement-web-hook");
    EXPECT_EQ(policy["spec"].contains("egress"), known_images);
  }
}

const Json& ResourcesOf(const Json& deployment) {
  return deployment["spec"]["template"]["spec"]["containers"][0]["resources"];
}

TEST(ClusterObjectsTest, HaveTheReplicasAndResourcesOfTheConfig) {
  api::Operands operands;
  operands.controller = {.replicas = 1, .resources = {}};
  operands.webhook = {.replicas = 4,
                      .resources = api::OperandResources{
                          .requests = api::ResourceAmounts{.cpu = "0.5", .memory = "32Mi"},
                          .limits = api::ResourceAmounts{.cpu = "1000m", .memory = "1024Mi"}}};
  DesiredObjects objects = ClusterObjects({.operands = operands}, kOptions);
  Json controller = Find(objects, kube::kDeployments, "pod-placement-controller");
  EXPECT_EQ(controller["spec"]["replicas"], 1);
  Json webhook = Find(objects, kube::kDeployments, "pod-placement-web-hook");
  EXPECT_EQ(webhook["spec"]["replicas"], 4);
  EXPECT_EQ(ResourcesOf(webhook), (Json{{"requests", {{"cpu", "500m"}, {"memory", "32Mi"}}},
                                        {"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}));
  // A single replica does not keep its node from being drained.
  auto budget = [&](const char* name) {
    return Find(objects, kube::kPodDisruptionBudgets, name)["spec"]["minAvailable"];
  };
  EXPECT_EQ(budget("pod-placement-controller"), 0);
  EXPECT_EQ(budget("pod-placement-web-hook"), 3);
  // The webhook's settings are not the controller's.
  EXPECT_EQ(ResourcesOf(controller),
            ResourcesOf(Find(ClusterObjects({}, kOptions), kube::kDeployments,
                             "pod-placement-controller")));
}

TEST(ShardObjectsTest, BothDeploymentsHaveTheReplicasAndResourcesOfTheConfig) {
  api::OperandSettings settings{
      .replicas = 2,
      .resources = api::OperandResources{.limits = api::ResourceAmounts{"", "128Mi"}}};
  DesiredObjects objects =
      ShardObjects("shop", {.operands = api::Operands{.shard = settings}}, kOptions);
  for (const char* name : {"pod-placement-shard-controller", "pod-placement-shard-web-hook"}) {
    Json deployment = Find(objects, kube::kDeployments, name);
    EXPECT_EQ(deployment["spec"]["replicas"], 2) << name;
    EXPECT_EQ(ResourcesOf(deployment)["limits"], (Json{{"cpu", "500m"}, {"memory", "128Mi"}}));
    Json affinity = deployment["spec"]["template"]["spec"]["affinity"];
    EXPECT_TRUE(affinity.contains("podAntiAffinity")) << "replicas prefer different nodes";
  }
  for (const DesiredObject& object : ShardObjects("shop", {}, kOptions)) {
    if (object.resource.kind != kube::kDeployments.kind) continue;
    EXPECT_EQ(object.body["spec"]["replicas"], 1);
    EXPECT_EQ(ResourcesOf(object.body), (Json{{"requests", {{"cpu", "10m"}, {"memory", "24Mi"}}},
                                              {"limits", {{"cpu", "500m"}, {"memory", "64Mi"}}}}));
    EXPECT_FALSE(object.body["spec"]["template"]["spec"]["affinity"].contains("podAntiAffinity"));
  }
}

TEST(ClusterObjectsTest, AreHighlyAvailableAndNoShards) {
  DesiredObjects objects = ClusterObjects({}, kOptions);
  for (const char* name : {"pod-placement-controller", "pod-placement-web-hook"}) {
    Json deployment = Find(objects, kube::kDeployments, name);
    EXPECT_EQ(deployment["spec"]["replicas"], 2);
    EXPECT_EQ(deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
    EXPECT_FALSE(deployment["metadata"]["labels"].contains(std::string(kShardNamespaceLabel)));
    EXPECT_EQ(Find(objects, kube::kPodDisruptionBudgets, name)["spec"]["minAvailable"], 1);
    Json service = Find(objects, kube::kServices, name);
    EXPECT_EQ(service["spec"]["ports"][0]["port"], 8443) << "metrics over TLS";
  }
}

}  // namespace
}  // namespace operator_

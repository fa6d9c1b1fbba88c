// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_objects.h"

#include <initializer_list>
#include <utility>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/types/kinds.h"
#include "operator/objects/hash.h"
#include "operator/objects/metadata.h"
#include "operator/objects/namespace_in.h"
#include "operator/objects/operand.h"
#include "operator/objects/pod_conditions.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/webhook/replica.h"

namespace operator_ {
namespace {

using kube::Json;

Operand PolicyWebhook(const api::SchedulingPolicies& plugin, const api::OperandSize& size,
                      const OperandOptions& options) {
  Operand webhook{.ns = options.ns,
                  .name = std::string(policy::kWebhookName),
                  .binary = std::string(policy::kReplicaOperand),
                  .image = options.webhook_image,
                  .args = {"--policies", "--operator-namespace=" + options.ns,
                           "--cert-dir=" + std::string(kCertificateDirectory)},
                  .size = size,
                  .webhook = true,
                  .watches = true,
                  .protected_metrics = true,
                  .critical = true};
  if (plugin.updates == "ChangedTemplates") webhook.args.emplace_back("--only-changed-templates");
  if (plugin.failure_policy == "Fail") webhook.args.emplace_back("--require-cluster-policies");
  return webhook;
}

Json Rule(Json operations, const char* group, Json resources) {
  return {{"operations", std::move(operations)},
          {"apiGroups", Json::array({group})},
          {"apiVersions", Json::array({"v1"})},
          {"resources", std::move(resources)},
          {"scope", "Namespaced"}};
}

// The templates of Jobs are immutable, and so is most of a pod. Pods of DaemonSets are left
// unchanged, because their templates are changed: always.
Json Rules(const api::SchedulingPolicies& plugin) {
  const Json create = Json::array({"CREATE"});
  const Json write = Json::array({"CREATE", "UPDATE"});
  if (plugin.resources == api::kPolicyTargetsPods)
    return Json::array({Rule(create, "", {"pods"}), Rule(write, "apps", {"daemonsets"})});
  return Json::array(
      {Rule(create, "", {"pods"}), Rule(create, "batch", {"jobs"}),
       Rule(write, "apps", {"deployments", "statefulsets", "daemonsets", "replicasets"}),
       Rule(write, "", {"replicationcontrollers"}), Rule(write, "batch", {"cronjobs"})});
}

Json MatchConditions() {
  const std::string not_a_pod = "request.resource.resource != 'pods' || !";
  return Json::array(
      {NotInAReservedNamespace(),
       Condition("not-being-deleted", "!has(object.metadata.deletionTimestamp)"),
       // Everyone can label a workload: its pods get the cluster's policies, or its template if it
       // is a DaemonSet.
       Condition("not-the-workload-of-an-operand",
                 "request.resource.resource in ['pods', 'daemonsets'] || !" +
                     HasKey("object.metadata.labels", api::kOperandLabel)),
       Condition("not-of-a-daemonset", not_a_pod + IsByDaemonSetController()),
       Condition("not-a-mirror-pod",
                 not_a_pod + "(" + IsByNode() + " && " +
                     HasKey("object.metadata.annotations", "kubernetes.io/config.mirror") + ")"),
       Condition("not-a-replicaset-with-a-controller",
                 "request.resource.resource != 'replicasets' || !" + HasAController())});
}

Json Expression(std::string_view key, const char* op, Json values) {
  return {{"key", std::string(key)}, {"operator", op}, {"values", std::move(values)}};
}

// `selector` without the namespaces that are always left unchanged.
Json NamespaceSelector(Json selector, const std::set<std::string>& without,
                       const OperandOptions& options) {
  std::set<std::string> excluded = without;
  excluded.insert({options.ns, "kube-node-lease", "kube-public", "kube-system"});
  selector["matchExpressions"].push_back(NamespaceIn("NotIn", excluded));
  selector["matchExpressions"].push_back(Expression("role", "NotIn", Json::array({"kube-system"})));
  return selector;
}

Json Webhook(const char* name, const std::string& path, const std::string& ca_bundle_pem,
             const OperandOptions& options) {
  Json service = {{"namespace", options.ns},
                  {"name", std::string(policy::kWebhookName)},
                  {"path", path},
                  {"port", 443}};
  return {{"name", std::string(name) + ".scheduling-policies.multiarch.openshift.io"},
          {"clientConfig",
           {{"service", std::move(service)}, {"caBundle", kube::Base64Encode(ca_bundle_pem)}}},
          {"objectSelector", Json::object()},
          {"matchPolicy", "Equivalent"},
          {"sideEffects", "None"},
          {"reinvocationPolicy", "IfNeeded"},
          {"timeoutSeconds", 3},
          {"admissionReviewVersions", Json::array({"v1"})}};
}

// The probe is a dry run of a Deployment in the operator's namespace, by the operator. A webhook
// that does not answer must not block anything there.
Json ProbeWebhook(const std::string& hash, const std::string& ca_bundle_pem,
                  const OperandOptions& options) {
  Json webhook =
      Webhook("probe", std::string(policy::kProbePathPrefix) + hash, ca_bundle_pem, options);
  webhook["rules"] = Json::array({Rule(Json::array({"CREATE"}), "apps", {"deployments"})});
  webhook["namespaceSelector"] = SelectNamespace(options.ns);
  webhook["objectSelector"]["matchExpressions"] =
      Json::array({{{"key", std::string(policy::kProbeLabel)}, {"operator", "Exists"}}});
  webhook["matchConditions"] =
      Json::array({Condition("by-the-operator", IsBy(options.ns, kManagedBy))});
  webhook["failurePolicy"] = "Ignore";
  return webhook;
}

}  // namespace

DesiredObjects PolicyObjects(const api::SchedulingPolicies& plugin, const OperandOptions& options,
                             const std::optional<api::OperandSettings>& settings) {
  Operand webhook = PolicyWebhook(plugin, SizeOf(settings, api::kPolicyWebhookDefaults), options);
  return {
      {kube::kServiceAccounts, OperandServiceAccount(webhook)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(webhook)},
      {kube::kDeployments, OperandDeployment(webhook, options)},
      {kube::kServices, OperandService(webhook)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(webhook), options.network_policies},
  };
}

bool PolicyObjectsLeft(const OperandStore& store, const OperandOptions& options) {
  kube::ObjectKey configuration{"", std::string(policy::kWebhookConfigurationName)};
  if (store.Get(kube::kMutatingWebhookConfigurations, configuration)) return true;
  return store.HasAny(PolicyObjects({}, options));
}

PolicyConfiguration PolicyWebhookConfiguration(const PolicyCoverage& coverage,
                                               const api::SchedulingPolicies& plugin,
                                               const std::string& ca_bundle_pem,
                                               const OperandOptions& options) {
  auto entry = [&](const char* name, Json selector, const std::set<std::string>& without) {
    Json webhook = Webhook(name, std::string(policy::kPoliciesPath), ca_bundle_pem, options);
    webhook["rules"] = Rules(plugin);
    webhook["matchConditions"] = MatchConditions();
    webhook["namespaceSelector"] = NamespaceSelector(std::move(selector), without, options);
    webhook["failurePolicy"] = plugin.failure_policy;
    return webhook;
  };
  Json webhooks = Json::array();
  if (!coverage.namespaces.empty()) {
    Json selector;
    selector["matchExpressions"] = Json::array({NamespaceIn("In", coverage.namespaces)});
    webhooks.push_back(entry("namespaces", std::move(selector), {}));
  }
  if (coverage.everywhere || !coverage.selector.empty()) {
    kube::Result<Json> parsed = kube::ParseJson(coverage.selector);
    Json selector = coverage.everywhere || !parsed ? Json::object() : std::move(*parsed);
    // The webhook applies the cluster policies, too, when it is called for the other entry.
    webhooks.push_back(entry("cluster", std::move(selector), coverage.namespaces));
  }
  PolicyConfiguration configuration;
  configuration.hash = HashOf(kube::DumpJson(webhooks));
  webhooks.push_back(ProbeWebhook(configuration.hash, ca_bundle_pem, options));
  configuration.object = NewClusterScoped(kube::kMutatingWebhookConfigurations,
                                          policy::kWebhookConfigurationName, options);
  configuration.object["webhooks"] = std::move(webhooks);
  return configuration;
}

}  // namespace operator_

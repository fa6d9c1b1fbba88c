// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/flows/policy_flow.h"

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/deploy/manifests.h"
#include "scheduling-policies/flows/policy_conditions.h"

namespace e2e {

using kube::Error;
using kube::kCustomResourceDefinitions;
using kube::Ok;
using kube::Result;
using policy::kClusterPodSchedulingPolicies;

namespace {

constexpr std::string_view kGroupWithoutWebhook = "without-webhook.test";

std::string CrdName(const Resource& kind) {
  return std::string(kind.plural) + "." + std::string(kind.group);
}

Result<Json> LoadCrd(const Resource& kind) {
  auto objects = operator_::LoadManifests({});
  if (!objects) return objects.error();
  for (const kube::Unstructured& object : *objects) {
    if (object.metadata().name() == CrdName(kind)) return object.body();
  }
  return Error::NotFound("CRD of " + std::string(kind.plural));
}

// Whether the kind can be listed.
Condition IsServed(const Resource& kind, bool served) {
  return {.name = CrdName(kind) + (served ? " is served" : " is not served"),
          .holds = [kind, served](Scene& scene) -> Result<> {
            Result<std::vector<Json>> list = scene.List(kind);
            if (list.has_value() == served) return Ok();
            return list ? Error::Internal("it is") : list.error();
          }};
}

Step ChangePlugin(const Json& plugin) {
  return Change(kClusterConfigs, std::string(api::kClusterConfigName),
                {{"spec", {{"plugins", {{"schedulingPolicies", plugin}}}}}});
}

}  // namespace

void PolicyFlow::SetUp() {
  FlowFixture::SetUp();
  Flow(scene(), "pods of the scene are not gated")
      .Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "no"}}}}}}));
}

void PolicyFlow::TearDown() {
  Flow flow(scene(), "policies are removed");
  auto policies = scene().List(kClusterPodSchedulingPolicies);
  for (const Json& policy : policies ? *policies : std::vector<Json>())
    flow.Do(Delete(kClusterPodSchedulingPolicies, kube::StringAt(policy, "metadata.name")));
  if (enabled_) flow.Do(ChangePlugin(nullptr)).Await(PolicyWebhookRemoved());
  for (const Resource& kind : created_)
    flow.Do(Delete(kCustomResourceDefinitions, CrdName(kind))).Await(IsServed(kind, false));
  FlowFixture::TearDown();
}

void PolicyFlow::GatePods() {
  Flow(scene(), "pods of the scene are gated")
      .Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "true"}}}}}}))
      .Await(ClusterConfigReady());
}

void PolicyFlow::EnablePolicies() {
  enabled_ = true;
  Flow(scene(), "policies are enabled").Do(ChangePlugin({{"enabled", true}}));
}

Result<> PolicyFlow::Serve(const Json& crd, const Resource& kind) {
  Result<Json> created = scene().Create(kCustomResourceDefinitions, crd);
  if (!created) return created.error();
  created_.push_back(kind);
  Flow flow(scene(), "a kind is added");
  flow.Await(IsServed(kind, true));
  if (flow.failed()) return Error::Unavailable(CrdName(kind) + " is not served");
  return Ok();
}

Result<Resource> PolicyFlow::ServeWithoutWebhook(const Resource& kind) {
  Result<Json> crd = LoadCrd(kind);
  if (!crd) return crd.error();
  Resource other = kind;
  other.group = kGroupWithoutWebhook;
  (*crd)["metadata"]["name"] = CrdName(other);
  (*crd)["spec"]["group"] = kGroupWithoutWebhook;
  Result<> served = Serve(*crd, other);
  if (!served) return served.error();
  return other;
}

Result<> PolicyFlow::DryRun(const Resource& kind, const Json& object) {
  std::string ns = kind.namespaced ? scene().ns() : "";
  Json body = object;
  body["apiVersion"] = kind.ApiVersion();
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kind.Path(ns) + "?dryRun=All",
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(body)};
  auto answer = cluster().Run(cluster().client().Call(std::move(request)));
  if (!answer) return answer.error();
  return Ok();
}

Json PolicyFlow::ClusterPolicy(const std::string& spec) {
  return {{"apiVersion", kClusterPodSchedulingPolicies.ApiVersion()},
          {"kind", std::string(kClusterPodSchedulingPolicies.kind)},
          {"metadata", {{"name", "p"}}},
          {"spec", kube::MustParseJson(spec)}};
}

}  // namespace e2e

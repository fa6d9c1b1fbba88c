// SPDX-License-Identifier: Apache-2.0
#include "operator/self_test/self_test.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::TimePoint;
using kube::Unstructured;
using namespace std::chrono_literals;

constexpr auto kPollEvery = 2s;
constexpr std::string_view kDeployment = "multiarch-tuning-operator";

constexpr Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
constexpr Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
// Stored as v1beta1: the API server calls the operator to convert it.
constexpr Resource kConverted{kClusterConfigs.group, "v1alpha1", kClusterConfigs.plural,
                              kClusterConfigs.kind, kClusterConfigs.namespaced};

// The CRDs accept any key of a label. The operator refuses this one with the message.
constexpr char kNoLabelKey[] = "not a label key";
constexpr std::string_view kRefusal = "is not a valid label key";
// What it says of a valid PodPlacementConfig while pod placement is off.
constexpr std::string_view kPlacementIsOff = "create it before a PodPlacementConfig";

struct Check {
  std::string what;
  Result<> result;
};

bool Says(const Result<>& result, std::string_view text) {
  return !result && result.error().message().find(text) != std::string::npos;
}

Async<> DeploymentIsAvailable(Client& client, std::string ns) {
  ObjectKey key{std::move(ns), std::string(kDeployment)};
  Result<Unstructured> found = co_await kube::GetObject(client, kube::kDeployments, key);
  if (!found) co_return found.error();
  if (kube::ConditionStatus(found->body(), "Available") == "True") co_return Ok();
  const Json* condition = kube::ConditionOf(found->body(), "Available");
  std::string message = condition == nullptr ? "" : kube::StringAt(*condition, "message");
  co_return Error::Unavailable("its condition Available is not True: " + message);
}

// `crd_version`: "NAME/VERSION".
Async<> IsServed(Client& client, std::string crd_version) {
  size_t slash = crd_version.find('/');
  if (slash == std::string::npos) co_return Error::Invalid(crd_version + " is not NAME/VERSION");
  ObjectKey key{"", crd_version.substr(0, slash)};
  const std::string version = crd_version.substr(slash + 1);
  Result<Unstructured> found =
      co_await kube::GetObject(client, kube::kCustomResourceDefinitions, key);
  if (!found) co_return found.error();
  if (kube::ConditionStatus(found->body(), "Established") != "True")
    co_return Error::Unavailable("its condition Established is not True");
  for (const Json& served : kube::ListAt(found->body(), "spec.versions")) {
    if (kube::StringAt(served, "name") == version && kube::BoolAt(served, "served")) co_return Ok();
  }
  co_return Error::Unavailable("it does not serve " + version);
}

Json ClusterConfig(const Resource& resource, const char* label_key) {
  Json config = {{"apiVersion", resource.ApiVersion()}, {"kind", std::string(resource.kind)}};
  config["metadata"]["name"] = std::string(api::kClusterConfigName);
  config["spec"]["namespaceSelector"]["matchLabels"][label_key] = "true";
  return config;
}

Json Config(const std::string& ns, const char* label_key) {
  Json config = {{"apiVersion", kConfigs.ApiVersion()}, {"kind", std::string(kConfigs.kind)}};
  config["metadata"] = {{"name", "self-test"}, {"namespace", ns}};
  // The highest one is the least likely to be in use.
  config["spec"]["priority"] = 255;
  config["spec"]["labelSelector"]["matchLabels"][label_key] = "true";
  config["spec"]["plugins"] = Json::object();
  return config;
}

// Creates `object` with dryRun=All.
Async<> DryRun(Client& client, Resource resource, Json object) {
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = resource.Path(kube::StringAt(object, "metadata.namespace")),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(object)};
  kube::AddQuery(request.target, "dryRun", "All");
  co_return co_await kube::Send(client, std::move(request));
}

// Of an object that the webhook must refuse.
Result<> Refused(const Result<>& result) {
  if (Says(result, kRefusal)) return Ok();
  if (!result) return result;
  return Error::Unavailable("it was accepted: the API server does not call the webhook");
}

// Of one that it must accept. The API server looks for an existing object after the webhook.
Result<> Accepted(const Result<>& result) {
  bool accepted = FailedWith(result, kube::Code::kAlreadyExists) || Says(result, kPlacementIsOff);
  return accepted ? Ok() : result;
}

Async<std::vector<Check>> RunChecks(Client& client, SelfTestOptions options) {
  std::vector<Check> checks;
  Result<> result = co_await DeploymentIsAvailable(client, options.ns);
  checks.push_back(
      {"Deployment " + options.ns + "/" + std::string(kDeployment) + " is available", result});
  for (const std::string& crd_version : options.crd_versions) {
    result = co_await IsServed(client, crd_version);
    checks.push_back({"CustomResourceDefinition " + crd_version + " is served", result});
  }
  const std::string kind(kClusterConfigs.kind);
  Json object = ClusterConfig(kClusterConfigs, kNoLabelKey);
  result = co_await DryRun(client, kClusterConfigs, std::move(object));
  checks.push_back({"the webhook refuses an invalid " + kind, Refused(result)});
  object = ClusterConfig(kClusterConfigs, "self-test");
  result = co_await DryRun(client, kClusterConfigs, std::move(object));
  checks.push_back({"the webhook accepts a valid " + kind, Accepted(result)});
  object = ClusterConfig(kConverted, "self-test");
  result = co_await DryRun(client, kConverted, std::move(object));
  checks.push_back(
      {"the webhook converts a " + kind + " " + std::string(kConverted.version), Accepted(result)});
  object = Config(options.ns, kNoLabelKey);
  result = co_await DryRun(client, kConfigs, std::move(object));
  checks.push_back({"the webhook refuses an invalid PodPlacementConfig", Refused(result)});
  object = Config(options.ns, "self-test");
  result = co_await DryRun(client, kConfigs, std::move(object));
  checks.push_back({"the webhook accepts a valid PodPlacementConfig", Accepted(result)});
  co_return checks;
}

void Print(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    std::cout << (check.result ? "passed: " : "FAILED: ") << check.what;
    if (!check.result) std::cout << ": " << check.result.error();
    std::cout << std::endl;
  }
}

}  // namespace

Async<> SelfTest(Client& client, Clock& clock, SelfTestOptions options, TimePoint deadline) {
  while (true) {
    Result<std::vector<Check>> checks = co_await RunChecks(client, options);
    if (!checks) co_return checks.error();
    auto failed = std::count_if(checks->begin(), checks->end(),
                                [](const Check& check) { return !check.result; });
    if (failed == 0 || clock.Now() >= deadline) {
      Print(*checks);
      if (failed == 0) co_return Ok();
      co_return Error::Unavailable(std::to_string(failed) + " of " +
                                   std::to_string(checks->size()) + " checks failed");
    }
    Result<> slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

}  // namespace operator_

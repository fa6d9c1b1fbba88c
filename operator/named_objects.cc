// SPDX-License-Identifier: Apache-2.0
#include "operator/named_objects.h"

#include <utility>

#include "inspection/config/config_check.h"
#include "inspection/config/credentials.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"
#include "kube/types/in_order.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Result;
using kube::core::ConfigMap;
using kube::core::Secret;

constexpr char kRegistriesKey[] = "registries.conf";
constexpr char kPolicyJsonKey[] = "policy.json";

void Add(std::string& problems, const std::string& problem) {
  if (problem.empty()) return;
  problems += problems.empty() ? problem : "; " + problem;
}

std::string ProblemsOfRegistries(const ConfigMap& map) {
  std::string problems;
  auto registries = map.data().find(kRegistriesKey);
  auto policy_json = map.data().find(kPolicyJsonKey);
  if (registries == map.data().end() && policy_json == map.data().end())
    return "has neither key registries.conf nor policy.json";
  // These errors begin with the name of the key.
  if (registries != map.data().end()) {
    Result<> checked = inspection::CheckRegistriesConf(registries->second);
    if (!checked) Add(problems, "key " + checked.error().message());
  }
  if (policy_json != map.data().end()) {
    Result<> checked = inspection::CheckPolicyJson(policy_json->second);
    if (!checked) Add(problems, "key " + checked.error().message());
  }
  return problems;
}

std::string ProblemsOfBundle(const ConfigMap& map) {
  std::string problems;
  int certificates = 0;
  for (const auto& [key, pem] : kube::InOrder(map.data())) {
    Result<int> counted = inspection::CountCertificates(pem);
    if (counted) {
      certificates += *counted;
    } else {
      Add(problems, "key " + std::string(key) + " " + counted.error().message());
    }
  }
  if (problems.empty() && certificates == 0) return "has no certificate in any key";
  return problems;
}

std::string ProblemsOfPullSecret(const Secret& secret) {
  std::string key =
      secret.type() == inspection::kDockerCfgType ? ".dockercfg" : ".dockerconfigjson";
  auto data = secret.data().find(key);
  Result<> checked = inspection::CheckPullSecret(
      secret.type(), data == secret.data().end() ? std::string() : data->second);
  return checked ? "" : "key " + key + " " + checked.error().message();
}

}  // namespace

template <class T>
Async<std::string> NamedObjects::ProblemsOf(std::string_view field, std::string name,
                                            std::string (*check)(const T&)) {
  if (name.empty()) co_return std::string();
  std::string about(field);
  about += ": " + std::string(kube::ResourceOf<T>::value.kind) + " " + ns_ + "/" + name + " ";
  kube::ObjectKey key{ns_, std::move(name)};
  Result<T> object = co_await kube::Get<T>(client_, key);
  if (IsNotFound(object)) co_return about + "does not exist";
  if (!object) co_return object.error().Prefix(field);

  std::string version = object->metadata().uid() + " " + object->metadata().resource_version();
  auto verdict = verdicts_.find(field);
  if (verdict == verdicts_.end() || verdict->second.version != version) {
    verdict =
        verdicts_.insert_or_assign(std::string(field), Verdict{std::move(version), check(*object)})
            .first;
  }
  co_return verdict->second.problems.empty() ? std::string() : about + verdict->second.problems;
}

Async<std::optional<Problem>> NamedObjects::Check(api::ClusterPodPlacementConfigSpec spec) {
  constexpr std::string_view kRegistries = "registriesConfigMapRef";
  constexpr std::string_view kBundle = "caBundleConfigMapRef";
  constexpr std::string_view kPullSecret = "globalPullSecretRef";
  Result<std::string> registries =
      co_await ProblemsOf<ConfigMap>(kRegistries, spec.registries_config_map, ProblemsOfRegistries);
  if (!registries) co_return registries.error();
  Result<std::string> bundle =
      co_await ProblemsOf<ConfigMap>(kBundle, spec.ca_bundle_config_map, ProblemsOfBundle);
  if (!bundle) co_return bundle.error();
  Result<std::string> secret =
      co_await ProblemsOf<Secret>(kPullSecret, spec.global_pull_secret, ProblemsOfPullSecret);
  if (!secret) co_return secret.error();

  std::string problems;
  Add(problems, *registries);
  Add(problems, *bundle);
  Add(problems, *secret);
  std::optional<Problem> problem;
  if (!problems.empty()) problem = Problem{"InvalidReference", std::move(problems)};
  co_return problem;
}

}  // namespace operator_

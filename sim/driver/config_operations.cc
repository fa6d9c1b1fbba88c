// SPDX-License-Identifier: Apache-2.0
// What cluster admins and owners of namespaces do.
#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/types/kinds.h"
#include "scheduling-policies/scheduling_policy.h"
#include "sim/driver/images.h"
#include "sim/driver/operations.h"

namespace sim {
namespace {

using kube::Json;

using Texts = std::vector<std::string>;

constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
constexpr kube::Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

const Parameter& Ns() {
  static const auto& parameter = *new Parameter{"ns", Parameter::kText, Maker::Namespaces()};
  return parameter;
}
Parameter ConfigName(std::string name) {
  return {std::move(name), Parameter::kText, Maker::Configs()};
}
Parameter OneOf(std::string name, Texts allowed) {
  return {std::move(name), Parameter::kText, std::move(allowed)};
}

Texts OrNone(Texts values) {
  values.push_back("");
  return values;
}

// Architecture -> weight.
Json SomePreferences(Maker& maker) {
  Json prefer = Json::object();
  for (const std::string& architecture : maker.Some(Maker::Architectures(), 3))
    prefer[architecture] = maker.Number(1, 100);
  return prefer;
}

std::string SomeToleration(Maker& maker) {
  return maker.random().Of(Texts{"", "", "On", "Off", "NoExecute"});
}

const Texts& Tolerations() {
  static const auto& values = *new Texts{"", "On", "Off", "NoExecute"};
  return values;
}

Json PluginsOf(const Json& with) {
  Json plugins = Json::object();
  if (!with["prefer"].empty()) {
    Json platforms = Json::array();
    for (const auto& item : with["prefer"].items())
      platforms.push_back({{"architecture", item.key()}, {"weight", item.value()}});
    plugins["nodeAffinityScoring"] = {{"enabled", true}, {"platforms", std::move(platforms)}};
  }
  const std::string tolerate = with["tolerate"];
  if (!tolerate.empty()) plugins["architectureTolerations"] = {{"enabled", tolerate != "Off"}};
  if (tolerate == "NoExecute")
    plugins["architectureTolerations"]["effects"] = Json::array({"NoExecute"});
  return plugins;
}

Json MakeConfigs(Maker& maker) {
  return {{"ns", maker.Namespace()},
          {"name", maker.Config()},
          {"priority", maker.Number(0, 3)},
          {"prefer", SomePreferences(maker)},
          {"team", maker.random().Of(Texts{"", "", "red", "blue"})},
          {"tolerate", SomeToleration(maker)},
          {"rule", maker.random().OnceIn(12)}};
}

void SetConfig(Stage& stage, const Json& with) {
  Json spec = {{"priority", with["priority"]}, {"plugins", PluginsOf(with)}};
  const std::string team = with["team"];
  spec["labelSelector"] = Json::object();
  if (!team.empty()) spec["labelSelector"]["matchLabels"]["team"] = team;
  if (with["rule"] == true) {
    Json platform = {{"architecture", "arm64"}, {"weight", 50}};
    spec["celRules"] = Json::array(
        {{{"name", "big"}, {"expression", "big"}, {"platforms", Json::array({platform})}}});
  }
  stage.Set(kConfigs, {{"apiVersion", kConfigs.ApiVersion()},
                       {"kind", std::string(kConfigs.kind)},
                       {"metadata", {{"namespace", with["ns"]}, {"name", with["name"]}}},
                       {"spec", std::move(spec)}});
}

Json MakeClusterConfigs(Maker& maker) {
  return {{"gating", maker.random().Of(Texts{"Webhook", "Webhook", "Policy"})},
          {"known", maker.random().Of(Texts{"", "PlaceAtCreation"})},
          {"prefer", SomePreferences(maker)},
          {"precedence", maker.random().Of(Texts{"", "Namespace"})},
          {"tolerate", SomeToleration(maker)},
          {"fallback", maker.random().Of(Texts{"", "", "amd64"})},
          {"takeover", maker.Number(5, 30)},
          {"retry", maker.Number(10, 60)},
          {"stage", maker.random().Of(Texts{"", "", "", "test"})},
          {"excludes", maker.random().OnceIn(3)},
          {"policies", maker.random().OnceIn(16)}};
}

void SetClusterConfig(Stage& stage, const Json& with) {
  Json spec = {{"gating", with["gating"]},
               {"plugins", PluginsOf(with)},
               {"shardTakeoverAfter", kube::DumpJson(with["takeover"]) + "s"},
               {"inspectionRetryPeriod", kube::DumpJson(with["retry"]) + "s"}};
  if (spec["plugins"].contains("nodeAffinityScoring") && with["precedence"] != "")
    spec["plugins"]["nodeAffinityScoring"]["precedence"] = with["precedence"];
  if (with["fallback"] != "") spec["fallbackArchitecture"] = with["fallback"];
  if (with["stage"] != "") spec["namespaceSelector"]["matchLabels"]["stage"] = with["stage"];
  if (with["excludes"] == true) spec["excludedSchedulerNames"] = Json::array({"volcano"});
  if (with["policies"] == true) spec["plugins"]["schedulingPolicies"]["enabled"] = true;
  if (with["known"] != "") spec["knownImages"] = with["known"];
  stage.Set(kClusterConfigs, {{"apiVersion", kClusterConfigs.ApiVersion()},
                              {"kind", std::string(kClusterConfigs.kind)},
                              {"metadata", {{"name", std::string(api::kClusterConfigName)}}},
                              {"spec", std::move(spec)}});
}

// Exchanges the priorities of two configurations in three writes: no two may have the same.
void SwapPriorities(Stage& stage, const Json& with) {
  constexpr int kFree = 9;
  const kube::ObjectKey one{with["ns"], with["name"]}, other{with["ns"], with["other"]};
  auto first = stage.world().admin().GetJson(kConfigs, one);
  auto second = stage.world().admin().GetJson(kConfigs, other);
  if (!first || !second || one == other) return;
  auto set = [&stage](const kube::ObjectKey& key, int64_t priority, Stage::Answer then) {
    stage.Patch(kConfigs, key, {{"spec", {{"priority", priority}}}}, std::move(then));
  };
  const int64_t of_one = kube::IntAt(*first, "spec.priority");
  const int64_t of_other = kube::IntAt(*second, "spec.priority");
  set(one, kFree, [=](const auto& moved) {
    if (!moved) return;
    set(other, of_one, [=](const auto& taken) {
      if (taken) set(one, of_other, nullptr);
    });
  });
}

Json NamespaceOf(const std::string& name, const std::string& stage) {
  Json labels = {{"kubernetes.io/metadata.name", name}};
  if (!stage.empty()) labels["stage"] = stage;
  return {{"apiVersion", "v1"},
          {"kind", "Namespace"},
          {"metadata", {{"name", name}, {"labels", std::move(labels)}}}};
}

// With the credentials of its pods, which the author of the namespace writes next.
void CreateNamespace(Stage& stage, const Json& with) {
  const std::string ns = with["ns"];
  // {"auths": {"p.io": {"auth": "a:b"}}}
  constexpr char kCredentials[] = "eyJhdXRocyI6eyJwLmlvIjp7ImF1dGgiOiJZVHBpIn19fQ==";
  Json secret = {{"apiVersion", "v1"},
                 {"kind", "Secret"},
                 {"type", "kubernetes.io/dockerconfigjson"},
                 {"metadata", {{"namespace", ns}, {"name", kPullSecret}}},
                 {"data", {{".dockerconfigjson", kCredentials}}}};
  stage.Create(kube::kNamespaces, NamespaceOf(ns, with["stage"]),
               [&stage, secret = std::move(secret)](const auto& created) {
                 if (created) stage.Create(kube::kSecrets, secret);
               });
}

void LabelNamespace(Stage& stage, const Json& with) {
  Json labels = {{"stage", nullptr}, {std::string(api::kExcludeLabel), nullptr}};
  if (with["stage"] != "") labels["stage"] = with["stage"];
  if (with["exclude"] == true) labels[std::string(api::kExcludeLabel)] = "";
  stage.Patch(kube::kNamespaces, {"", with["ns"]}, {{"metadata", {{"labels", labels}}}});
}

void SetPolicy(Stage& stage, const Json& with) {
  const kube::Resource& policies = policy::kPodSchedulingPolicies;
  stage.Set(policies, {{"apiVersion", policies.ApiVersion()},
                       {"kind", std::string(policies.kind)},
                       {"metadata", {{"namespace", with["ns"]}, {"name", "fast"}}},
                       {"spec", {{"podSelector", Json::object()}, {"schedulerName", "fast"}}}});
}

}  // namespace

std::vector<Operation> ConfigOperations() {
  const Texts stages = {"", "test"};
  return {
      {.name = "SetClusterConfig",
       .weight = 4,
       .is_fault = false,
       .parameters = {OneOf("gating", {"Webhook", "Policy"}),
                      OneOf("known", OrNone({"PlaceAtCreation"})),
                      {"prefer", Parameter::kObject},
                      OneOf("precedence", OrNone({"Namespace"})),
                      OneOf("tolerate", Tolerations()),
                      OneOf("fallback", OrNone(Maker::Architectures())),
                      {"takeover", Parameter::kNumber},
                      {"retry", Parameter::kNumber},
                      OneOf("stage", stages),
                      {"excludes", Parameter::kYesNo},
                      {"policies", Parameter::kYesNo}},
       .make = MakeClusterConfigs,
       .apply = SetClusterConfig},
      {.name = "DeleteClusterConfig",
       .weight = 1,
       .is_fault = false,
       .parameters = {},
       .make = [](Maker&) { return Json(Json::object()); },
       .apply =
           [](Stage& stage, const Json&) {
             stage.Delete(kClusterConfigs, {"", std::string(api::kClusterConfigName)});
           }},
      {.name = "SetConfig",
       .weight = 14,
       .is_fault = false,
       .parameters = {Ns(),
                      ConfigName("name"),
                      {"priority", Parameter::kNumber},
                      {"prefer", Parameter::kObject},
                      OneOf("team", {"", "red", "blue"}),
                      OneOf("tolerate", Tolerations()),
                      {"rule", Parameter::kYesNo}},
       .make = MakeConfigs,
       .apply = SetConfig},
      {.name = "DeleteConfig",
       .weight = 5,
       .is_fault = false,
       .parameters = {Ns(), ConfigName("name")},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()}, {"name", maker.Config()}};
           },
       .apply =
           [](Stage& stage, const Json& with) {
             stage.Delete(kConfigs, {with["ns"], with["name"]});
           }},
      {.name = "SwapPriorities",
       .weight = 3,
       .is_fault = false,
       .parameters = {Ns(), ConfigName("name"), ConfigName("other")},
       .make =
           [](Maker& maker) {
             return Json{
                 {"ns", maker.Namespace()}, {"name", maker.Config()}, {"other", maker.Config()}};
           },
       .apply = SwapPriorities},
      {.name = "CreateNamespace",
       .weight = 3,
       .is_fault = false,
       .parameters = {Ns(), OneOf("stage", stages)},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()},
                         {"stage", maker.random().Of(Texts{"", "test"})}};
           },
       .apply = CreateNamespace},
      {.name = "DeleteNamespace",
       .weight = 2,
       .is_fault = false,
       .parameters = {Ns()},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()}};
           },
       .apply =
           [](Stage& stage, const Json& with) {
             stage.Delete(kube::kNamespaces, {"", with["ns"]});
           }},
      {.name = "LabelNamespace",
       .weight = 2,
       .is_fault = false,
       .parameters = {Ns(), OneOf("stage", stages), {"exclude", Parameter::kYesNo}},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()},
                         {"stage", maker.random().Of(Texts{"", "test"})},
                         {"exclude", maker.random().OnceIn(3)}};
           },
       .apply = LabelNamespace},
      {.name = "SetPolicy",
       .weight = 1,
       .is_fault = false,
       .parameters = {Ns()},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()}};
           },
       .apply = SetPolicy},
  };
}

}  // namespace sim

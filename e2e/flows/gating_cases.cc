// SPDX-License-Identifier: Apache-2.0
#include "e2e/flows/gating_cases.h"

#include <filesystem>
#include <utility>

#include "api/names.h"
#include "kube/types/unstructured.h"
#include "placement/local_configs.h"
#include "webhook/golden.h"

namespace e2e {
namespace {

const std::string kRecord(api::kLocalConfigsAnnotation);
const std::string kArch(api::kArchLabel);

PodBuilder Pod(const std::string& name) { return MakePod(name).Image("registry.example/web:1"); }

Json Gates(const std::vector<std::string_view>& names) {
  Json gates = Json::array();
  for (std::string_view name : names) gates.push_back({{"name", std::string(name)}});
  return gates;
}

PodBuilder Gated(const std::string& name, const std::vector<std::string_view>& gates) {
  return Pod(name).Set("/spec/schedulingGates", Gates(gates));
}

PodBuilder LocallyGated(const std::string& name, const std::string& record) {
  return Gated(name, {api::kLocalGate}).Annotation(kRecord, record);
}

PodBuilder OwnedBy(const std::string& name, const char* api_version, const char* kind,
                   Json controller) {
  Json owner = {{"apiVersion", api_version}, {"kind", kind}, {"name", "o"}, {"uid", "u"}};
  if (!controller.is_null()) owner["controller"] = controller;
  return Pod(name).Set("/metadata/ownerReferences", Json::array({owner}));
}

// Required terms, or preferred ones with weights.
PodBuilder NodeAffinity(const std::string& name, const char* which, Json value) {
  return Pod(name).Set(std::string("/spec/affinity/nodeAffinity/") + which, std::move(value));
}

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

// As a user would send them.
std::vector<GatingCase> GoldenCases() {
  std::vector<GatingCase> cases;
  for (const auto& file : std::filesystem::directory_iterator(webhook::kTestdata)) {
    std::string name = file.path().filename().string();
    if (!name.ends_with(".input.json")) continue;
    auto review = kube::ParseJson(webhook::ReadTestFile(file.path()));
    if (!review) continue;
    const Json* object = kube::Find(*review, "request.object");
    const Json* spec = object == nullptr ? nullptr : kube::Find(*object, "spec");
    if (spec == nullptr || !spec->is_object() || kube::StringAt(*object, "kind") != "Pod") continue;
    Json pod = *object;
    pod["apiVersion"] = "v1";
    Json& metadata = pod["metadata"];
    metadata.erase("namespace");
    metadata.erase("resourceVersion");
    if (!metadata.contains("generateName")) metadata["name"] = "golden";
    cases.push_back({"golden: " + name, std::move(pod)});
  }
  return cases;
}

}  // namespace

std::vector<ConfigBuilder> GatingConfigs() {
  auto requirement = [](const char* key, const char* op, Json values) {
    Json json = {{"key", key}, {"operator", op}};
    if (!values.empty()) json["values"] = std::move(values);
    return json;
  };
  Json not_db = requirement("tier", "NotIn", Json::array({"db"}));
  return {
      MakeConfig("prefs").Priority(1).Prefer("arm64", 5),
      MakeConfig("labelled")
          .Priority(2)
          .ForLabel("app", "labelled")
          .Set("/spec/labelSelector/matchExpressions", Json::array({not_db}))
          .Prefer("amd64", 5),
      MakeConfig("tiers")
          .Priority(3)
          .Set("/spec/labelSelector/matchExpressions",
               Json::array({requirement("tier", "In", Json::array({"web", "db"})),
                            requirement("batch", "DoesNotExist", Json::array())}))
          .Prefer("arm64", 4),
      MakeConfig("batch")
          .Priority(4)
          .Set("/spec/labelSelector/matchExpressions",
               Json::array({requirement("batch", "Exists", Json::array())}))
          .Prefer("arm64", 3),
      MakeConfig("empty-selector")
          .Priority(5)
          .Set("/spec/labelSelector", Json::object())
          .Prefer("s390x", 2),
  };
}

std::vector<GatingCase> GatingCases() {
  Json other_term = {{"matchExpressions", {{{"key", "zone"}, {"operator", "Exists"}}}}};
  Json arch_term = {{"matchExpressions", {{{"key", kArch}, {"operator", "Exists"}}}}};
  Json fields_term = {
      {"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {"node"}}}}}};
  Json weighted_other = {{"weight", 1}, {"preference", other_term}};
  std::string full_record = "prefs,";
  while (full_record.size() < 64 * 1024 - 6) full_record += "web,";
  std::string cluster_gate(api::kClusterGate);
  std::vector<GatingCase> cases = {
      {"a plain pod", Pod("a").Build(), "cl"},
      {"a generated name",
       Pod("a").Set("/metadata/name", nullptr).Set("/metadata/generateName", "a-").Build(), "cl"},
      {"a config by labels", Pod("a").Label("app", "labelled").Build(), "cl"},
      {"excluded by an expression", Pod("a").Label("app", "labelled").Label("tier", "db").Build(),
       "cl"},
      {"In", Pod("a").Label("tier", "web").Build(), "cl"},
      {"not In", Pod("a").Label("tier", "cache").Build(), "cl"},
      {"Exists", Pod("a").Label("tier", "web").Label("batch", "").Build(), "cl"},
      {"all", Pod("a").Label("app", "labelled").Label("tier", "web").Build(), "cl"},

      {"labels of a copy",
       Pod("a")
           .Label(cluster_gate, "removed")
           .Label(std::string(api::kNodeAffinityLabel), "set")
           .Label(std::string(api::kLocalGateLabel), "removed")
           .Build(),
       "cl"},
      {"the record of a copy", Pod("a").Annotation(kRecord, "old,prefs").Build(), "cl"},
      {"another annotation", Pod("a").Annotation("example.com/a", "b").Build(), "cl"},
      {"null maps and lists",
       Pod("a")
           .Set("/metadata/labels", nullptr)
           .Set("/metadata/annotations", nullptr)
           .Set("/spec/schedulingGates", nullptr)
           .Set("/spec/nodeSelector", nullptr)
           .Set("/spec/affinity", nullptr)
           .Build(),
       "cl"},
      {"empty maps and lists",
       Pod("a")
           .Set("/metadata/labels", Json::object())
           .Set("/metadata/annotations", Json::object())
           .Set("/spec/schedulingGates", Json::array())
           .Set("/spec/nodeSelector", Json::object())
           .Set("/spec/affinity", Json::object())
           .Build(),
       "cl"},
      {"a label that is null", Pod("a").Set("/metadata/labels", {{"a", nullptr}}).Build(), "cl"},
      {"unknown fields",
       Pod("a").Set("/spec/fromTheFuture", {{"a", 1}}).Set("/metadata/alsoNew", true).Build(),
       "cl"},
      {"values to escape", Pod("a").Annotation("a", "\"'\\\n\u00e4\u4e16~/").Build(), "cl"},

      {"the cluster gate", Gated("a", {api::kClusterGate}).Build(), "cl"},
      {"the local gate", Gated("a", {api::kLocalGate}).Build(), "cl"},
      {"both gates and another",
       Gated("a", {"example.com/b", api::kLocalGate, api::kClusterGate}).Build(), "cl"},
      {"another gate", Gated("a", {"example.com/b"}).Build(), "cl"},
      {"an empty record", LocallyGated("a", "").Build(), "cl"},
      {"a record with this config", LocallyGated("a", "prefs").Build(), "cl"},
      {"a record with similar names", LocallyGated("a", "pref,prefsx,prefs/x,").Build(), "cl"},
      {"a record that is forged", LocallyGated("a", ",,'\u4e16',a/../b").Build(), "cl"},
      {"a full record", LocallyGated("a", full_record).Build(), "cl"},
      // With eight names or more, a policy adds none.
      {"a record with room for one name",
       LocallyGated("a", "web," + std::string(placement::kMaxLocalConfigsSize - 10, 'a')).Build(),
       "cl"},
      {"a record without room for one name",
       LocallyGated("a", "web," + std::string(placement::kMaxLocalConfigsSize - 9, 'a')).Build(),
       "cl"},
      {"a record beyond the limit", LocallyGated("a", std::string(100'000, ',')).Build(), "cl"},
      {"a full record in bytes, not in characters",
       LocallyGated("a", std::string(64'000, 'a') + std::string(400, '\'') + ",\u4e16").Build(),
       "cl"},

      {"bound to a node", Pod("a").Set("/spec/nodeName", "node").Build(), ""},
      {"an empty node name", Pod("a").Set("/spec/nodeName", "").Build(), "cl"},
      {"says that it is of a DaemonSet", OwnedBy("a", "apps/v1", "DaemonSet", true).Build(), "cl"},
      {"of a DaemonSet that does not control", OwnedBy("a", "apps/v1", "DaemonSet", false).Build(),
       "cl"},
      {"of a DaemonSet, controller not set", OwnedBy("a", "apps/v1", "DaemonSet", nullptr).Build(),
       "cl"},
      {"of another group's DaemonSet", OwnedBy("a", "example.com/v1", "DaemonSet", true).Build()},
      {"of a ReplicaSet", OwnedBy("a", "apps/v1", "ReplicaSet", true).Build(), "cl"},
      {"for the control plane",
       Pod("a").NodeSelector(std::string(api::kControlPlaneNodeLabel), "").Build(), ""},
      {"for the master", Pod("a").NodeSelector(std::string(api::kMasterNodeLabel), "x").Build(),
       ""},
      {"an operand", Pod("a").Label(std::string(api::kOperandLabel), "shard").Build(), ""},
      {"an operand with a gate",
       Gated("a", {api::kLocalGate}).Label(std::string(api::kOperandLabel), "").Build(), "l"},

      {"opted out", Pod("a").Label(std::string(api::kExcludeLabel), "").Build(), ""},
      {"opted out, any value", Pod("a").Label(std::string(api::kExcludeLabel), "false").Build(),
       ""},
      {"opted out, with a gate",
       Gated("a", {api::kLocalGate}).Label(std::string(api::kExcludeLabel), "").Build(), "l"},
      {"of an excluded scheduler", Pod("a").Set("/spec/schedulerName", kExcludedScheduler).Build(),
       ""},
      {"of a scheduler with a similar name",
       Pod("a").Set("/spec/schedulerName", "e2e.example.com").Build(), "cl"},

      {"requires by selector", Pod("a").NodeSelector(kArch, "arm64").Build(), "cl"},
      {"another selector", Pod("a").NodeSelector("zone", "1").Build(), "cl"},
      {"requires", Pod("a").Require(kArch, {"arm64"}).Build(), "cl"},
      {"requires in one term of two",
       NodeAffinity("a", kRequired, {{"nodeSelectorTerms", {arch_term, other_term}}}).Build(),
       "cl"},
      {"requires in both terms",
       NodeAffinity("a", kRequired, {{"nodeSelectorTerms", {arch_term, arch_term}}}).Build(), "cl"},
      {"requires fields",
       NodeAffinity("a", kRequired, {{"nodeSelectorTerms", Json::array({fields_term})}}).Build(),
       "cl"},
      {"an empty required term",
       NodeAffinity("a", kRequired, {{"nodeSelectorTerms", Json::array({Json::object()})}}).Build(),
       "cl"},
      {"an empty node affinity",
       Pod("a").Set("/spec/affinity/nodeAffinity", Json::object()).Build(), "cl"},
      {"another affinity", Pod("a").Set("/spec/affinity/podAffinity", Json::object()).Build(),
       "cl"},
      {"prefers", Pod("a").Prefer("arm64", 1).Build(), "cl"},
      {"prefers something else",
       NodeAffinity("a", kPreferred, Json::array({weighted_other})).Build(), "cl"},
      {"requires and prefers", Pod("a").Require(kArch, {"arm64"}).Prefer("arm64", 1).Build(), ""},
      {"requires by selector and prefers",
       Pod("a").NodeSelector(kArch, "arm64").Prefer("arm64", 1).Build(), ""},
      {"requires in one term and prefers",
       NodeAffinity("a", kRequired, {{"nodeSelectorTerms", {arch_term, other_term}}})
           .Prefer("arm64", 1)
           .Build(),
       "cl"},
      {"requires and prefers something else",
       NodeAffinity("a", kPreferred, Json::array({weighted_other}))
           .Require(kArch, {"s390x"})
           .Build(),
       "cl"},
      {"requires and prefers, with both gates",
       Gated("a", {api::kLocalGate, api::kClusterGate})
           .Require(kArch, {"arm64"})
           .Prefer("arm64", 1)
           .Build(),
       "cl"},
      {"requires, with the cluster gate",
       Gated("a", {api::kClusterGate}).NodeSelector(kArch, "arm64").Build(), "cl"},
      {"bound to a node, with a gate: refused",
       Gated("a", {"example.com/b"}).Set("/spec/nodeName", "node").Build()},
  };
  for (GatingCase& golden : GoldenCases()) cases.push_back(std::move(golden));
  return cases;
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/pod_traits.h"

#include <string_view>

#include "api/names.h"
#include "sim/driver/images.h"

namespace sim {
namespace {

using kube::Json;

constexpr char kArch[] = "kubernetes.io/arch";
constexpr char kOs[] = "kubernetes.io/os";
constexpr char kZone[] = "topology.kubernetes.io/zone";

Json In(const char* key, std::vector<std::string> values) {
  return {{"key", key}, {"operator", "In"}, {"values", std::move(values)}};
}

Json Term(Json expression) { return {{"matchExpressions", Json::array({std::move(expression)})}}; }

void Require(Json& pod, Json term) {
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
     ["nodeSelectorTerms"]
         .push_back(std::move(term));
}

void Prefer(Json& pod, int weight, Json term) {
  pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
      .push_back({{"weight", weight}, {"preference", std::move(term)}});
}

void Own(Json& pod, const char* kind) {
  pod["metadata"]["ownerReferences"].push_back({{"apiVersion", "apps/v1"},
                                                {"kind", kind},
                                                {"name", "owner"},
                                                {"uid", "uid-of-owner"},
                                                {"controller", true}});
}

void Label(Json& pod, std::string_view key, const std::string& value) {
  pod["metadata"]["labels"][std::string(key)] = value;
}

void Gate(Json& pod, std::string_view gate) {
  pod["spec"]["schedulingGates"].push_back({{"name", std::string(gate)}});
}

void SetPullPolicy(Json& pod, const char* policy) {
  for (Json& container : pod["spec"]["containers"]) container["imagePullPolicy"] = policy;
}

}  // namespace

const std::vector<PodTrait>& PodTraits() {
  static const auto& traits = *new std::vector<PodTrait>{
      {"TeamRed", 2, [](Json& pod) { Label(pod, "team", "red"); }},
      {"SelectsZone", 8, [](Json& pod) { pod["spec"]["nodeSelector"][kZone] = "a"; }},
      {"SelectsArch", 12, [](Json& pod) { pod["spec"]["nodeSelector"][kArch] = "arm64"; }},
      {"RequiresZone", 6,
       [](Json& pod) {
         Require(pod, Term(In(kZone, {"a", "b"})));
       }},
      {"RequiresDisk", 10, [](Json& pod) { Require(pod, Term(In("disk", {"ssd"}))); }},
      {"RequiresArch", 12, [](Json& pod) { Require(pod, Term(In(kArch, {"amd64"}))); }},
      {"PrefersZone", 8, [](Json& pod) { Prefer(pod, 5, Term(In(kZone, {"b"}))); }},
      {"PrefersArch", 10, [](Json& pod) { Prefer(pod, 7, Term(In(kArch, {"arm64"}))); }},
      {"OtherGate", 8, [](Json& pod) { Gate(pod, "example.com/quota"); }},
      {"GatedByAuthor", 20, [](Json& pod) { Gate(pod, api::kClusterGate); }},
      {"LocallyGatedByAuthor", 20, [](Json& pod) { Gate(pod, api::kLocalGate); }},
      {"OfReplicaSet", 3, [](Json& pod) { Own(pod, "ReplicaSet"); }},
      {"OfDaemonSet", 12, [](Json& pod) { Own(pod, "DaemonSet"); }},
      {"OptsOut", 12, [](Json& pod) { Label(pod, api::kExcludeLabel, ""); }},
      {"OtherScheduler", 10, [](Json& pod) { pod["spec"]["schedulerName"] = "volcano"; }},
      {"ForControlPlane", 16,
       [](Json& pod) {
         pod["spec"]["nodeSelector"][std::string(api::kControlPlaneNodeLabel)] = "";
       }},
      {"Windows", 12, [](Json& pod) { pod["spec"]["os"]["name"] = "windows"; }},
      {"SelectsWindows", 16, [](Json& pod) { pod["spec"]["nodeSelector"][kOs] = "windows"; }},
      {"ToleratesSpot", 10,
       [](Json& pod) {
         pod["spec"]["tolerations"].push_back({{"key", "spot"}, {"operator", "Exists"}});
       }},
      {"PullsAlways", 8, [](Json& pod) { SetPullPolicy(pod, "Always"); }},
      {"PullsNever", 20, [](Json& pod) { SetPullPolicy(pod, "Never"); }},
      {"ImageVolume", 12,
       [](Json& pod) {
         pod["spec"]["volumes"].push_back(
             {{"name", "data"}, {"image", {{"reference", "r.io/both:1"}}}});
       }},
      {"PrivateImage", 8,
       [](Json& pod) {
         pod["spec"]["containers"].push_back({{"name", "private"}, {"image", kPrivateImage}});
         pod["spec"]["imagePullSecrets"].push_back({{"name", kPullSecret}});
       }},
      {"InitContainer", 8,
       [](Json& pod) {
         pod["spec"]["initContainers"].push_back({{"name", "init"}, {"image", "r.io/all:1"}});
       }},
      {"FieldOfTheFuture", 6,
       [](Json& pod) {
         pod["spec"]["fieldOfTheFuture"] = {{"deep", Json::array({1, 2})}};
         pod["metadata"]["fieldOfTheFuture"] = true;
       }},
      {"CopyOfPlacedPod", 16,
       [](Json& pod) {
         Label(pod, api::kNodeAffinityLabel, std::string(api::kSet));
         Label(pod, api::kLocalGateLabel, std::string(api::kRemoved));
         Label(pod, api::kMultiArchLabel, "");
       }},
      {"Big", 8, [](Json& pod) { pod["metadata"]["annotations"]["kind"] = "big"; }},
  };
  return traits;
}

std::vector<std::string> PodTraitNames() {
  std::vector<std::string> names;
  for (const PodTrait& trait : PodTraits()) names.push_back(trait.name);
  return names;
}

Json PodOf(const kube::ObjectKey& key, const std::vector<std::string>& images,
           const std::vector<std::string>& traits) {
  Json containers = Json::array();
  for (const std::string& image : images)
    containers.push_back({{"name", "c" + std::to_string(containers.size())}, {"image", image}});
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"namespace", key.ns}, {"name", key.name}}},
              {"spec", {{"containers", std::move(containers)}}}};
  for (const PodTrait& trait : PodTraits()) {
    for (const std::string& name : traits) {
      if (name == trait.name) trait.apply(pod);
    }
  }
  return pod;
}

}  // namespace sim

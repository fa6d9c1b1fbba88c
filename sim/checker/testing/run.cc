// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/testing/run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;

std::string Key(std::string_view name) {
  return std::string(api::kLabelPrefix) + std::string(name);
}

Json& NodeAffinity(Json& pod) { return pod["spec"]["affinity"]["nodeAffinity"]; }

}  // namespace

TestRun::TestRun() {
  facts_.images.SetPlatforms(
      kImage, 0s,
      Image{.platforms = {{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}}});
  SetNamespace(facts_.operator_namespace, Json::object());
  SetNamespace("shop", Json::object());
  SetCluster(Json::object());
  Advance(1min);
}

std::vector<std::string> TestRun::Found() const {
  std::vector<std::string> rules;
  for (const Violation& violation : checker_.violations()) rules.push_back(violation.rule);
  return rules;
}

std::string TestRun::Described() const {
  std::string text;
  for (const Violation& violation : checker_.violations()) text += Describe(violation) + "\n";
  return text;
}

Json TestRun::Write(const std::string& user, const std::string& group, const std::string& plural,
                    Json object, const std::string& subresource, Json sent) {
  Json& metadata = object["metadata"];
  kube::ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                      kube::StringAt(object, "metadata.name")};
  Id id{group, plural, key.ns, key.name};
  auto known = objects_.find(id);
  // The operator replaces pods, and patches everything else.
  std::string change = user == kOperatorUser && plural != "pods" ? "patch" : "update";
  Commit commit{.version = ++version_,
                .group = group,
                .plural = plural,
                .key = key,
                .user = user,
                .verb = known == objects_.end() ? "create" : std::move(change),
                .subresource = subresource,
                .at = now_,
                .sent = sent.is_null() ? nullptr : Share(std::move(sent))};
  if (known != objects_.end()) commit.before = Share(known->second);
  if (commit.before) metadata["uid"] = kube::StringAt(*commit.before, "metadata.uid");
  if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(++uids_);
  metadata["resourceVersion"] = std::to_string(version_);
  commit.after = Share(object);
  objects_[id] = object;
  checker_.Add(commit);
  return object;
}

void TestRun::Delete(const std::string& user, const std::string& group, const std::string& plural,
                     const std::string& ns, const std::string& name) {
  Id id{group, plural, ns, name};
  Commit commit{.version = ++version_,
                .group = group,
                .plural = plural,
                .key = {ns, name},
                .before = Share(objects_[id]),
                .user = user,
                .verb = "delete",
                .at = now_};
  objects_.erase(id);
  checker_.Add(commit);
}

void TestRun::SetCluster(Json spec, bool deleting) {
  Json object = {{"metadata", {{"name", "cluster"}}}, {"spec", std::move(spec)}};
  if (deleting) object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Write(kUser, std::string(api::kGroup), "clusterpodplacementconfigs", std::move(object));
}

void TestRun::DeleteCluster() {
  Delete(kUser, std::string(api::kGroup), "clusterpodplacementconfigs", "", "cluster");
}

void TestRun::SetConfig(const std::string& name, Json spec, bool announced) {
  int64_t generation = ++generations_[name];
  std::string uid = "config-" + name;
  if (announced) {
    std::string value = std::to_string(generation) + " 1767225600 " + name;
    Write(kOperatorUser, "coordination.k8s.io", "leases",
          {{"metadata",
            {{"namespace", "shop"},
             {"name", std::string(api::kAnnouncementsName)},
             {"annotations", {{std::string(api::kAnnouncementAnnotationPrefix) + uid, value}}}}}});
    Advance(250ms);
  }
  const std::string group(api::kGroup), plural = "podplacementconfigs";
  auto known = objects_.find({group, plural, "shop", name});
  Json object = known == objects_.end() ? Json::object() : known->second;
  if (known == objects_.end()) {
    // Each is a second younger than the one before.
    std::string created = "2026-01-01T00:00:0" + std::to_string(generations_.size()) + "Z";
    object["metadata"] = {
        {"namespace", "shop"}, {"name", name}, {"uid", uid}, {"creationTimestamp", created}};
  }
  object["metadata"]["generation"] = generation;
  object["spec"] = std::move(spec);
  Write(kUser, group, plural, std::move(object));
}

void TestRun::DeleteConfig(const std::string& name) {
  Delete(kUser, std::string(api::kGroup), "podplacementconfigs", "shop", name);
}

void TestRun::SetNamespace(const std::string& name, Json labels, bool deleting) {
  Json object = {{"metadata", {{"name", name}, {"labels", std::move(labels)}}}};
  if (deleting) object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Write(kUser, "", "namespaces", std::move(object));
}

Json TestRun::CreatePod(Json pod, bool local) {
  Json gated = Gated(pod, api::kClusterGate);
  gated = Labelled(gated, Key("node-affinity"), "not-set");
  gated = Labelled(gated, Key("preferred-node-affinity"), "not-set");
  if (local) gated = Gated(gated, api::kLocalGate);
  return Write(kUser, "", "pods", gated, "", pod);
}

void TestRun::Finish(Time faults_ended, const EventCounters& counters) {
  checker_.Finish({.at = now_, .faults_ended = faults_ended}, counters);
}

Json Pod(const std::string& name) {
  return {{"metadata", {{"namespace", "shop"}, {"name", name}}},
          {"spec", {{"containers", Json::array({{{"name", "main"}, {"image", kImage}}})}}},
          {"status", {{"phase", "Pending"}}}};
}

Json Prefers(std::vector<std::pair<std::string, int>> platforms, int priority) {
  Json list = Json::array();
  for (const auto& [architecture, weight] : platforms)
    list.push_back({{"architecture", architecture}, {"weight", weight}});
  return {
      {"priority", priority},
      {"plugins", {{"nodeAffinityScoring", {{"enabled", true}, {"platforms", std::move(list)}}}}}};
}

Json Gated(Json pod, std::string_view gate) {
  pod["spec"]["schedulingGates"].push_back({{"name", std::string(gate)}});
  return Labelled(std::move(pod), std::string(gate), "gated");
}

Json Labelled(Json pod, const std::string& key, const std::string& value) {
  pod["metadata"]["labels"][key] = value;
  return pod;
}

Json WithoutLabel(Json pod, const std::string& key) {
  pod["metadata"]["labels"].erase(key);
  return pod;
}

Json Annotated(Json pod, const std::string& key, const std::string& value) {
  pod["metadata"]["annotations"][key] = value;
  return pod;
}

Json WithoutGate(Json pod, std::string_view gate) {
  Json& gates = pod["spec"]["schedulingGates"];
  gates.erase(std::remove_if(gates.begin(), gates.end(),
                             [&](const Json& one) { return one["name"] == std::string(gate); }),
              gates.end());
  if (gates.empty()) pod["spec"].erase("schedulingGates");
  return Labelled(std::move(pod), std::string(gate), "removed");
}

Json Requiring(Json pod, const std::string& key, std::vector<std::string> values) {
  Json& terms =
      NodeAffinity(pod)["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  if (terms.empty()) terms = Json::array({Json::object()});
  Json expression = {{"key", key}, {"operator", values.empty() ? "Exists" : "In"}};
  if (!values.empty()) expression["values"] = values;
  for (Json& term : terms) term["matchExpressions"].push_back(expression);
  return pod;
}

Json Preferring(Json pod, const std::string& architecture, int weight, const std::string& source) {
  Json expression = {
      {"key", "kubernetes.io/arch"}, {"operator", "In"}, {"values", Json::array({architecture})}};
  NodeAffinity(pod)["preferredDuringSchedulingIgnoredDuringExecution"].push_back(
      {{"weight", weight}, {"preference", {{"matchExpressions", Json::array({expression})}}}});
  if (source.empty()) return pod;
  pod = Labelled(std::move(pod), Key("preferred-node-affinity"), "set");
  return Recorded(std::move(pod), architecture + ":" + std::to_string(weight) + ":" + source);
}

Json Recorded(Json pod, const std::string& entry) {
  std::string key(api::kPreferredAffinitySourcesAnnotation);
  std::string before = AnnotationOf(pod, key);
  return Annotated(std::move(pod), key, before.empty() ? entry : before + "," + entry);
}

Json Tolerating(Json pod, const std::string& architecture) {
  pod["spec"]["tolerations"].push_back({{"key", "kubernetes.io/arch"},
                                        {"operator", "Equal"},
                                        {"value", architecture},
                                        {"effect", "NoSchedule"}});
  return pod;
}

Json Required(Json pod, std::vector<std::string> architectures) {
  pod = Labelled(std::move(pod), Key("node-affinity"), "set");
  if (architectures.empty()) {
    pod = Requiring(std::move(pod), Key("no-supported-arch"), {});
    return Labelled(std::move(pod), Key("no-supported-arch"));
  }
  pod = Labelled(std::move(pod), Key(architectures.size() == 1 ? "single-arch" : "multi-arch"));
  for (const std::string& architecture : architectures)
    pod = Labelled(std::move(pod), Key(architecture));
  return Requiring(std::move(pod), "kubernetes.io/arch", architectures);
}

Json Placed(Json pod, std::vector<std::string> architectures) {
  return WithoutGate(Required(std::move(pod), std::move(architectures)), api::kClusterGate);
}

Json Failed(Json pod, int attempts) {
  pod = Labelled(std::move(pod), Key("image-inspect-error"));
  pod = Labelled(std::move(pod), Key("image-inspect-error-count"), std::to_string(attempts));
  return Annotated(std::move(pod), std::string(api::kInspectErrorAnnotation), "503");
}

}  // namespace sim::checker

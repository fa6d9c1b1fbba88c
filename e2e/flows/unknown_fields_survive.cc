// SPDX-License-Identifier: Apache-2.0
// I5: fields that the operator does not know survive both gates. A pod with every field of core/v1
// that the API server accepts, and its twin in a namespace that is not selected, differ only in the
// fields that the operator sets. It has a gate of its own, which the flow removes.
#include <fstream>
#include <iostream>
#include <sstream>

#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/served.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"

namespace e2e {
namespace {

constexpr kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass",
                                         false};

Json RichPod(const std::string& image) {
  std::ifstream in("e2e/flows/testdata/pod_with_every_field.yaml");
  std::stringstream text;
  text << in.rdbuf();
  std::string yaml = text.str();
  for (size_t at = yaml.find("${IMAGE}"); at != std::string::npos; at = yaml.find("${IMAGE}")) {
    yaml.replace(at, 8, image);
  }
  auto documents = kube::ParseYamlDocuments(yaml);
  EXPECT_TRUE(documents) << documents.error();
  return documents && !documents->empty() ? documents->front() : Json::object();
}

// The pod as an older API server, such as that of 1.30, accepts it.
Json WithoutRefusedFields(Json pod) {
  pod["spec"]["containers"][0].erase("restartPolicy");
  std::erase_if(pod["spec"]["volumes"].get_ref<Json::array_t&>(),
                [](const Json& volume) { return volume.contains("image"); });
  return pod;
}

// `sent` without the fields that the API server drops.
Json AsStored(Json sent, const Json& stored) {
  if (sent.is_array() && stored.is_array()) {
    for (size_t i = 0; i < sent.size() && i < stored.size(); ++i)
      sent[i] = AsStored(std::move(sent[i]), stored[i]);
  }
  if (!sent.is_object() || !stored.is_object()) return sent;
  Json kept = Json::object();
  for (auto& [key, value] : sent.items()) {
    if (stored.contains(key)) kept[key] = AsStored(std::move(value), stored[key]);
  }
  return kept;
}

// Removes the fields that are unique to a pod, that every write changes, and that the operator
// sets.
Json WithoutOurs(Json pod) {
  pod.erase("status");
  Json& metadata = pod["metadata"];
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation",
                            "managedFields", "namespace"}) {
    metadata.erase(field);
  }
  for (const char* map : {"labels", "annotations"}) {
    Json theirs = Json::object();
    const Json all = metadata.value(map, Json::object());
    for (const auto& [key, value] : all.items()) {
      if (!key.starts_with(api::kLabelPrefix)) theirs[key] = value;
    }
    metadata[map] = theirs;
  }
  // The flow removes gates, and then the scheduler chooses a node.
  pod["spec"].erase("schedulingGates");
  pod["spec"].erase("nodeName");
  // Removes only the operator's expressions and terms: everything around them must be unchanged.
  Json& node_affinity = pod["spec"]["affinity"]["nodeAffinity"];
  for (Json& term :
       node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]) {
    Json expressions = Json::array();
    for (const Json& expression : term.value("matchExpressions", Json::array())) {
      if (kube::StringAt(expression, "key") != api::kArchLabel) expressions.push_back(expression);
    }
    term["matchExpressions"] = expressions;
  }
  Json preferences = Json::array();
  for (const Json& term : node_affinity["preferredDuringSchedulingIgnoredDuringExecution"]) {
    if (kube::DumpJson(term).find(api::kArchLabel) == std::string::npos)
      preferences.push_back(term);
  }
  node_affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferences;
  return pod;
}

constexpr const char* kOwnGate = "example.com/own-gate";

// Decided, behind the cluster gate and its own.
Condition AwaitsItsOwnGate(const std::string& pod) {
  return OfPod(pod, "has its own gate and the requirement", [](const Json& json) {
    return HasGate(json, kOwnGate) && HasGate(json, api::kClusterGate) &&
           !HasGate(json, api::kLocalGate) &&
           LabelOf(json, std::string(api::kNodeAffinityLabel)) == api::kSet;
  });
}

Step RemoveItsOwnGate(const std::string& pod) {
  return {"remove the pod's own gate", [pod](Scene& scene) -> kube::Result<> {
            auto found = scene.Get(kPods, pod);
            if (!found) return found.error();
            Json gates = Json::array();
            for (const Json& gate : (*found)["spec"].value("schedulingGates", Json::array())) {
              if (kube::StringAt(gate, "name") != kOwnGate) gates.push_back(gate);
            }
            auto patched = scene.Patch(kPods, pod, {{"spec", {{"schedulingGates", gates}}}});
            if (!patched) return patched.error();
            return kube::Ok();
          }};
}

class UnknownFieldsFlow : public FlowFixture {
 protected:
  void TearDown() override {
    // Its finalizer would keep the namespace.
    kube::IgnoreError(scene().Patch(kPods, "rich", {{"metadata", {{"finalizers", nullptr}}}}),
                      "it may be absent");
    FlowFixture::TearDown();
  }
};

TEST_F(UnknownFieldsFlow, GoesThroughBothGatesUnchanged) {
  Json runtime_class = {
      {"apiVersion", "node.k8s.io/v1"}, {"kind", "RuntimeClass"}, {"handler", "none"}};
  runtime_class["metadata"]["name"] = "e2e-rich";
  runtime_class["overhead"]["podFixed"] = {{"cpu", "10m"}, {"memory", "1Mi"}};
  auto applied = cluster().Run(kube::ApplyObject(cluster().client(), kRuntimeClasses,
                                                 kube::Unstructured(runtime_class),
                                                 kube::ApplyOptions{"e2e"}));
  ASSERT_TRUE(applied) << applied.error();

  Json labels = {{kSceneLabel, "false"}};
  auto elsewhere = Scene::Make(cluster(), "unknown-to-us", Json::object());
  ASSERT_TRUE(elsewhere) << elsewhere.error();
  Flow plain(**elsewhere, "a twin that we do not touch");
  plain.Do(Change(kNamespaces, (*elsewhere)->ns(), {{"metadata", {{"labels", labels}}}}));

  Json rich = RichPod(Image("demo/multi:1"));
  if (int minor = MinorVersion(cluster()); minor < 36) {
    rich = WithoutRefusedFields(std::move(rich));
    auto stored = (*elsewhere)->CreateInADryRun(kPods, rich);
    ASSERT_TRUE(stored) << stored.error();
    rich = AsStored(std::move(rich), *stored);
    std::cout << "the API server is of 1." << minor << ": a pod with the fields that it knows, "
              << kube::DumpJson(rich).size() << " bytes" << std::endl;
  }
  Flow flow(scene(), "a pod with every field");
  flow.Do(Create(MakeConfig("all").Prefer("arm64", 61)))
      .Await(ShardReady())
      .Do(Create(kPods, rich))
      .Await(AwaitsItsOwnGate("rich"))
      .Do(RemoveItsOwnGate("rich"))
      .Await(Prefers("rich", {{"arm64", 61}}))
      .Never(CreatedWithoutClusterGate())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  plain.Do(Create(kPods, rich)).Await(Ungated("rich")).Never(HadGate());
  if (flow.failed() || plain.failed()) return;

  const PodHistory& selected = *scene().pods().Find("rich");
  const PodHistory& twin = *(*elsewhere)->pods().Find("rich");
  EXPECT_TRUE(HasGate(selected.events.front().pod, api::kLocalGate));

  // After admission, and after both controllers.
  Json untouched = WithoutOurs(twin.events.front().pod);
  for (const PodEvent& event : selected.events) {
    Json seen = WithoutOurs(event.pod);
    EXPECT_EQ(seen, untouched) << "difference: " << kube::PrettyJson(Json::diff(untouched, seen));
  }
  // The API server stored every field: the comparison cannot see a field that the twin lost.
  for (const auto& [field, value] : rich["spec"].items()) {
    EXPECT_TRUE(twin.events.front().pod["spec"].contains(field))
        << "this API server drops " << field;
  }
  kube::IgnoreError((*elsewhere)->Patch(kPods, "rich", {{"metadata", {{"finalizers", nullptr}}}}),
                    "it may be absent");
}

}  // namespace
}  // namespace e2e

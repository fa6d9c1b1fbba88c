// SPDX-License-Identifier: Apache-2.0
// What authors of pods and other controllers do.
#include "api/names.h"
#include "kube/types/kinds.h"
#include "sim/driver/images.h"
#include "sim/driver/operations.h"
#include "sim/driver/pod_traits.h"

namespace sim {
namespace {

using kube::Json;

using Texts = std::vector<std::string>;

kube::ObjectKey KeyIn(const Json& with) { return {with["ns"], with["name"]}; }

Json ParametersOf(const kube::ObjectKey& key) { return {{"ns", key.ns}, {"name", key.name}}; }

std::vector<Parameter> OfPod(std::vector<Parameter> more = {}) {
  more.push_back({"ns", Parameter::kText, Maker::Namespaces()});
  more.push_back({"name", Parameter::kText});
  return more;
}

Texts SomeTraits(Maker& maker) {
  Texts traits;
  for (const PodTrait& trait : PodTraits()) {
    if (maker.random().OnceIn(static_cast<uint64_t>(trait.once_in))) traits.push_back(trait.name);
  }
  return traits;
}

Json MakePods(Maker& maker) {
  Json with = ParametersOf(maker.NewPod());
  Texts images = {maker.Image()};
  while (maker.random().OnceIn(4)) images.push_back(maker.Image());
  with["images"] = std::move(images);
  with["traits"] = SomeTraits(maker);
  return with;
}

// Replaces a pod by itself with a change, as a controller that has read it now.
void Rewrite(Stage& stage, const Json& with, void (*change)(Json& pod)) {
  const kube::ObjectKey key = KeyIn(with);
  std::optional<Json> pod = stage.world().admin().GetJson(kube::kPods, key);
  if (!pod) return;
  change(*pod);
  stage.Call({.method = kube::Method::kPut,
              .target = kube::kPods.Path(key.ns, key.name),
              .content_type = std::string(kube::kJson),
              .body = kube::DumpJson(*pod)});
}

void RemoveGates(Json& pod, bool (*which)(const std::string& gate)) {
  Json kept = Json::array();
  for (const Json& gate : pod["spec"].value("schedulingGates", Json::array())) {
    if (!which(gate.value("name", ""))) kept.push_back(gate);
  }
  pod["spec"]["schedulingGates"] = std::move(kept);
}

struct Edit {
  std::string name;
  void (*change)(Json& pod);
};

// What clients do to pods that they do not own.
const std::vector<Edit>& Edits() {
  static const auto& edits = *new std::vector<Edit>{
      {"Annotates", [](Json& pod) { pod["metadata"]["annotations"]["example.com/note"] = "seen"; }},
      {"Labels", [](Json& pod) { pod["metadata"]["labels"]["team"] = "blue"; }},
      {"RemovesLabels",
       [](Json& pod) {
         Json& labels =
             (pod["metadata"]["labels"] = pod["metadata"].value("labels", Json::object()));
         labels.erase(std::string(api::kNodeAffinityLabel));
         labels.erase(std::string(api::kLocalGateLabel));
       }},
      {"CountsFailures",
       [](Json& pod) {
         pod["metadata"]["labels"][std::string(api::kInspectErrorCountLabel)] = "4";
       }},
      {"RemovesOtherGates",
       [](Json& pod) {
         RemoveGates(pod, [](const std::string& gate) { return !gate.starts_with(api::kGroup); });
       }},
      {"RemovesLocalGate",
       [](Json& pod) {
         RemoveGates(pod, [](const std::string& gate) { return gate == api::kLocalGate; });
       }},
      {"RemovesAllGates",
       [](Json& pod) { RemoveGates(pod, [](const std::string&) { return true; }); }},
      {"AddsGate",
       [](Json& pod) {
         pod["spec"]["schedulingGates"].push_back({{"name", "example.com/new"}});
       }},
      {"Selects", [](Json& pod) { pod["spec"]["nodeSelector"]["example.com/pool"] = "fast"; }},
      {"OptsOut",
       [](Json& pod) { pod["metadata"]["labels"][std::string(api::kExcludeLabel)] = ""; }},
  };
  return edits;
}

Texts EditNames() {
  Texts names;
  for (const Edit& edit : Edits()) names.push_back(edit.name);
  return names;
}

}  // namespace

std::vector<Operation> PodOperations() {
  return {
      {.name = "CreatePod",
       .weight = 40,
       .is_fault = false,
       .parameters = OfPod({{"images", Parameter::kTexts, ImageNames()},
                            {"traits", Parameter::kTexts, PodTraitNames()}}),
       .make = MakePods,
       .apply =
           [](Stage& stage, const Json& with) {
             stage.Create(kube::kPods, PodOf(KeyIn(with), with["images"], with["traits"]));
           }},
      {.name = "DeletePod",
       .weight = 3,
       .is_fault = false,
       .parameters = OfPod(),
       .make = [](Maker& maker) { return ParametersOf(maker.Pod()); },
       .apply = [](Stage& stage, const Json& with) { stage.Delete(kube::kPods, KeyIn(with)); }},
      // As a StatefulSet does.
      {.name = "ReplacePod",
       .weight = 2,
       .is_fault = false,
       .parameters = OfPod({{"images", Parameter::kTexts, ImageNames()},
                            {"traits", Parameter::kTexts, PodTraitNames()}}),
       .make =
           [](Maker& maker) {
             Json with = ParametersOf(maker.Pod());
             with["images"] = Texts{maker.Image()};
             with["traits"] = SomeTraits(maker);
             return with;
           },
       .apply =
           [](Stage& stage, const Json& with) {
             stage.Delete(kube::kPods, KeyIn(with));
             stage.Create(kube::kPods, PodOf(KeyIn(with), with["images"], with["traits"]));
           }},
      {.name = "EditPod",
       .weight = 8,
       .is_fault = false,
       .parameters = OfPod({{"edit", Parameter::kText, EditNames()}}),
       .make =
           [](Maker& maker) {
             Json with = ParametersOf(maker.Pod());
             with["edit"] = maker.random().Of(EditNames());
             return with;
           },
       .apply =
           [](Stage& stage, const Json& with) {
             for (const Edit& edit : Edits()) {
               if (with["edit"] == edit.name) Rewrite(stage, with, edit.change);
             }
           }},
  };
}

}  // namespace sim

// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/known_images_cel.h"

#include <algorithm>
#include <string_view>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/admission/json_patch.h"
#include "operator/objects/cel_patch.h"
#include "operator/objects/pod_conditions.h"

namespace operator_ {
namespace {

using kube::Json;

constexpr char kConfigured[] = "configured";
constexpr size_t kMaxImageName = 512;

const std::string kAffinity = "object.spec.affinity";
const std::string kPlacement = "variables.placements[variables.at]";

// The list or map is absent, or short and `holds` for each `item`.
std::string EachOf(const std::string& list, const std::string& item, const std::string& holds) {
  return "(!has(" + list + ") || " + IsShort(list) + " && " + list + ".all(" + item + ", " + holds +
         "))";
}

// A node may use an image that a tag named before, unless it asks the registry each time.
std::string AllowsOldTag() {
  return "has(c.image) && has(c.imagePullPolicy) && (c.imagePullPolicy == 'IfNotPresent' || "
         "c.imagePullPolicy == 'Always' && c.image.contains('@'))";
}

std::string IsKnown() {
  return AllowsOldTag() + " && size(c.image) <= " + std::to_string(kMaxImageName) +
         " && c.image in variables.images";
}

std::string HasNoImageVolume() { return EachOf("object.spec.volumes", "v", "!has(v.image)"); }

// Only images and the ClusterPodPlacementConfig decide.
std::string OnlyImagesDecide() {
  return "!(request.namespace in variables." + std::string(kConfigured) +
         ") && !has(object.spec.os) && " +
         EachOf("object.spec.nodeSelector", "k", "!k.contains('kubernetes.io/')") + " && " +
         HasNoImageVolume();
}

// Nothing of the pod is from another one, or from its author.
std::string IsNew() {
  const std::string other_key = "!k.startsWith(" + Quoted(api::kLabelPrefix) + ")";
  return "(!has(object.spec.schedulingGates) || size(object.spec.schedulingGates) == 0) && !(" +
         HasNodeAffinity() + ") && " + EachOf("object.metadata.labels", "k", other_key) + " && " +
         EachOf("object.metadata.annotations", "k", other_key);
}

// The images of all containers, in their order.
std::string Images() {
  const std::string image = ".map(c, has(c.image) ? string(c.image) : '')";
  return "(object.spec.containers" + image +
         " + (has(object.spec.initContainers) ? object.spec.initContainers" + image +
         " : [])).join(',')";
}

// A patch that makes a map of the metadata, unless it is there.
std::string MakeMap(const std::string& field) {
  return "(has(object.metadata." + field + ") ? [] : [" + AddAt("/metadata/" + field, "{}") + "])";
}

// Patches that add the map `field` of the placement to that of the metadata.
std::string AddMap(const std::string& field) {
  const std::string map = kPlacement + "." + field;
  return map + ".map(k, JSONPatch{op: 'add', path: '/metadata/" + field +
         "/' + jsonpatch.escapeKey(string(k)), value: " + map + "[k]})";
}

std::string Place() {
  const std::string affinity = kPlacement + ".nodeAffinity";
  const std::string placed_for =
      "/metadata/annotations/" + kube::PointerToken(api::kPlacedForAnnotation);
  return "(has(" + kAffinity + ") ? [" + AddAt("/spec/affinity/nodeAffinity", affinity) + "] : [" +
         AddAt("/spec/affinity", "{'nodeAffinity': " + affinity + "}") + "]) + " +
         MakeMap("labels") + " + " + AddMap("labels") + " + " + MakeMap("annotations") + " + " +
         AddMap("annotations") + " + [" + AddAt(placed_for, Images()) + "]";
}

// As webhook/gate_patch.h does.
std::string GateAgain() {
  return AddGate(api::kClusterGate) + " + " +
         SetEntries("labels", {{api::kClusterGateLabel, Quoted(api::kGated)}}) + " + [" +
         RemoveAt("/metadata/labels/" + kube::PointerToken(api::kPlacedAtCreationLabel)) + "]";
}

Json PlacementsOf(const KnownTable& table) {
  Json placements = Json::array();
  for (const TablePlacement& placement : table.placements) {
    placements.push_back({{"nodeAffinity", placement.node_affinity},
                          {"labels", placement.labels},
                          {"annotations", placement.annotations}});
  }
  return placements;
}

// A map of strings to equal types.
template <class Map, class ToCel>
std::string MapOf(const Map& map, ToCel to_cel) {
  std::string text;
  for (const auto& [key, value] : map)
    text += (text.empty() ? "" : ", ") + Quoted(key) + ": " + to_cel(value);
  return "{" + text + "}";
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + Quoted(name);
  return "[" + text + "]";
}

std::string Letters() {
  std::vector<std::string> letters;
  for (size_t i = 0; i < kMaxLetters; ++i) letters.emplace_back(1, static_cast<char>('a' + i));
  return ListOf(letters);
}

}  // namespace

void AddKnownImages(const KnownTable& table, const std::vector<std::string>& configured,
                    Json& variables) {
  auto add = [&](const char* name, std::string expression) {
    variables.push_back(Variable(name, std::move(expression)));
  };
  add("images",
      MapOf(table.images, [](char letter) { return Quoted(std::string_view(&letter, 1)); }));
  add("combinations",
      MapOf(table.combinations, [](size_t index) { return std::to_string(index); }));
  add("placements", Literal(PlacementsOf(table)));
  add(kConfigured, ListOf(configured));
  add("known", "!variables.ignored && !variables.gated && " + OnlyImagesDecide() +
                   " && has(object.spec.containers) && " +
                   EachOf("object.spec.containers", "c", IsKnown()) + " && " +
                   EachOf("object.spec.initContainers", "c", IsKnown()));
  add("letters",
      "variables.known ? (object.spec.containers.map(c, variables.images[c.image]) + "
      "(has(object.spec.initContainers) ? object.spec.initContainers.map(c, "
      "variables.images[c.image]) : [])) : []");
  add("combination", Letters() + ".filter(l, l in variables.letters).join('')");
  add("at",
      "variables.combination in variables.combinations ? "
      "variables.combinations[variables.combination] : -1");
}

Json PlacingConditions() {
  const std::string labels = "object.metadata.labels";
  auto has = [&](std::string_view label, std::string_view value) {
    return HasValue(labels, label, Quoted(value));
  };
  const std::string same_images =
      "has(object.spec.containers) && " + EachOf("object.spec.containers", "c", AllowsOldTag()) +
      " && " + EachOf("object.spec.initContainers", "c", AllowsOldTag()) + " && " +
      HasNoImageVolume() + " && " +
      HasValue("object.metadata.annotations", api::kPlacedForAnnotation, Images());
  return Json::array(
      {Condition("not-placed",
                 "!(" + WasPlaced() + " && " + RequiresArchitecture() + " && " + same_images + ")"),
       Condition("not-gated", "!(" + HasGate(api::kClusterGate) + " && " +
                                  has(api::kClusterGateLabel, api::kGated) + " && " +
                                  has(api::kNodeAffinityLabel, api::kNotSet) + " && " +
                                  has(api::kPreferredNodeAffinityLabel, api::kNotSet) + " && !" +
                                  HasKey(labels, api::kLocalGateLabel) + ")")});
}

std::string WasPlaced() { return HasKey("object.metadata.labels", api::kPlacedAtCreationLabel); }

std::string PlaceOr(const std::string& gated) {
  return WasPlaced() + " && !variables.gated ? " + GateAgain() + " : variables.at >= 0 && " +
         IsNew() + " ? " + Place() + " : " + gated;
}

std::optional<std::set<std::string>> ConfiguredNamespacesOf(const Json& policy) {
  const Json* variables = kube::Find(policy, "spec.variables");
  if (variables == nullptr || !variables->is_array()) return std::nullopt;
  for (const Json& variable : *variables) {
    if (kube::StringAt(variable, "name") != kConfigured) continue;
    std::string list = kube::StringAt(variable, "expression");
    std::replace(list.begin(), list.end(), '\'', '"');
    auto names = kube::ParseJson(list);
    if (!names || !names->is_array()) return std::nullopt;
    std::set<std::string> namespaces;
    for (const Json& name : *names) {
      if (name.is_string()) namespaces.insert(name.get<std::string>());
    }
    return namespaces;
  }
  return std::nullopt;
}

}  // namespace operator_

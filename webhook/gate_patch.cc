// SPDX-License-Identifier: Apache-2.0
#include "webhook/gate_patch.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/admission/json_patch.h"
#include "kube/base/json_text.h"
#include "placement/local_configs.h"

namespace webhook {
namespace {

using kube::JsonPatch;
using placement::GateDecision;

struct Entry {
  std::string_view key;
  std::string value;
  // The value that the pod has, "" if none.
  std::string_view present;
};

// Sets `entries` in the map of strings at `path`, which may be absent.
void Set(JsonPatch& patch, std::string_view path, bool map_exists,
         std::initializer_list<Entry> entries) {
  std::string map;
  if (!map_exists) map.reserve(256);
  for (const Entry& entry : entries) {
    if (map_exists) {
      if (entry.value == entry.present) continue;
      std::string pointer = kube::PointerToken(entry.key);
      pointer.insert(0, 1, '/').insert(0, path);
      patch.Add(pointer, kube::JsonString(entry.value));
    } else {
      map += map.empty() ? "{" : ",";
      kube::AppendJsonString(map, entry.key);
      map += ":";
      kube::AppendJsonString(map, entry.value);
    }
  }
  if (map.empty()) return;
  map += '}';
  patch.Add(path, map);
}

void AddGate(JsonPatch& patch, bool array_exists, std::string_view gate) {
  std::string item;
  item.reserve(128);
  item += array_exists ? R"({"name":)" : R"([{"name":)";
  kube::AppendJsonString(item, gate);
  item += array_exists ? "}" : "}]";
  patch.Add(array_exists ? "/spec/schedulingGates/-" : "/spec/schedulingGates", item);
}

// Appends `name` to the comma-separated `list`, unless the list has it.
std::string WithName(std::string_view list, std::string_view name) {
  for (std::string_view rest = list; !rest.empty();) {
    size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return std::string(list);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  if (list.size() + 1 + name.size() > placement::kMaxLocalConfigsSize) return std::string(list);
  return list.empty() ? std::string(name) : std::string(list) + "," + std::string(name);
}

}  // namespace

std::string ClusterPatch(const PodReview& review, GateDecision decision) {
  if (decision == GateDecision::kOffLimits) return "";
  JsonPatch patch;
  if (decision == GateDecision::kGate) AddGate(patch, review.has_gates, api::kClusterGate);
  std::string gate_label(decision == GateDecision::kIgnore ? api::kNotSet : api::kGated);
  if (review.placed_at_creation && decision == GateDecision::kGate) {
    // The cluster controller narrows what was set.
    Set(patch, "/metadata/labels", review.has_labels,
        {{api::kClusterGateLabel, gate_label, review.cluster_gate_label}});
    patch.Remove("/metadata/labels/" + kube::PointerToken(api::kPlacedAtCreationLabel));
  } else {
    Set(patch, "/metadata/labels", review.has_labels,
        {{api::kClusterGateLabel, gate_label, review.cluster_gate_label},
         {api::kNodeAffinityLabel, std::string(api::kNotSet), review.node_affinity_label},
         {api::kPreferredNodeAffinityLabel, std::string(api::kNotSet),
          review.preferred_node_affinity_label}});
  }
  const std::vector<std::string_view>& gates = review.pod.gates;
  if (review.local_gate_label == api::kRemoved &&
      std::find(gates.begin(), gates.end(), api::kLocalGate) == gates.end())
    patch.Remove("/metadata/labels/" + kube::PointerToken(api::kLocalGateLabel));
  return std::move(patch).Take();
}

std::string LocalPatch(const PodReview& review, GateDecision decision, std::string_view entry) {
  if (decision == GateDecision::kOffLimits || decision == GateDecision::kIgnore) return "";
  JsonPatch patch;
  if (decision == GateDecision::kGate) AddGate(patch, review.has_gates, api::kLocalGate);
  Set(patch, "/metadata/labels", review.has_labels,
      {{api::kLocalGateLabel, std::string(api::kGated), review.local_gate_label}});
  // A pod with the annotation but without the gate is a copy of another pod: its list starts empty.
  std::string_view before =
      decision == GateDecision::kGate ? std::string_view() : review.local_configs;
  Set(patch, "/metadata/annotations", review.has_annotations,
      {{api::kLocalConfigsAnnotation, WithName(before, entry), review.local_configs}});
  return std::move(patch).Take();
}

}  // namespace webhook

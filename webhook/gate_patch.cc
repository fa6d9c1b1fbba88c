// SPDX-License-Identifier: Apache-2.0
#include "webhook/gate_patch.h"

#include <vector>

#include "api/names.h"
#include "kube/base/json_text.h"

namespace webhook {
namespace {

using placement::GateDecision;

struct Entry {
  std::string_view key;
  std::string value;
  // The value that the pod has, "" if none.
  std::string_view present;
};

// Collects "add" operations, which replace a member that exists.
class JsonPatch {
 public:
  // `value` is JSON.
  void Add(std::string_view path, std::string_view value) {
    text_ += text_.empty() ? "[" : ",";
    text_ += R"({"op":"add","path":)";
    kube::AppendJsonString(text_, path);
    text_ += R"(,"value":)";
    text_ += value;
    text_ += "}";
  }

  // Sets `entries` in the map of strings at `path`, which may be absent.
  void Set(std::string_view path, bool map_exists, const std::vector<Entry>& entries) {
    std::string map;
    for (const Entry& entry : entries) {
      if (map_exists) {
        if (entry.value != entry.present)
          Add(std::string(path) + "/" + Escape(entry.key), kube::JsonString(entry.value));
      } else {
        map += map.empty() ? "{" : ",";
        kube::AppendJsonString(map, entry.key);
        map += ":";
        kube::AppendJsonString(map, entry.value);
      }
    }
    if (!map.empty()) Add(path, map + "}");
  }

  void AddGate(bool array_exists, std::string_view gate) {
    std::string item = R"({"name":)" + kube::JsonString(gate) + "}";
    if (array_exists) {
      Add("/spec/schedulingGates/-", item);
    } else {
      Add("/spec/schedulingGates", "[" + item + "]");
    }
  }

  std::string Take() && { return text_.empty() ? "" : std::move(text_) + "]"; }

 private:
  // `key` as a reference token of a JSON Pointer (RFC 6901). No key here has a '~'.
  static std::string Escape(std::string_view key) {
    std::string out;
    for (char c : key) c == '/' ? out += "~1" : out += c;
    return out;
  }

  std::string text_;
};

// Appends `name` to the comma-separated `list`, unless the list has it.
std::string WithName(std::string_view list, std::string_view name) {
  for (std::string_view rest = list; !rest.empty();) {
    size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return std::string(list);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return list.empty() ? std::string(name) : std::string(list) + "," + std::string(name);
}

}  // namespace

std::string ClusterPatch(const PodReview& review, GateDecision decision) {
  if (decision == GateDecision::kOffLimits) return "";
  JsonPatch patch;
  if (decision == GateDecision::kGate) patch.AddGate(review.has_gates, api::kClusterGate);
  std::string gate_label(decision == GateDecision::kIgnore ? api::kNotSet : api::kGated);
  patch.Set("/metadata/labels", review.has_labels,
            {{api::kClusterGateLabel, gate_label, review.cluster_gate_label},
             {api::kNodeAffinityLabel, std::string(api::kNotSet), review.node_affinity_label},
             {api::kPreferredNodeAffinityLabel, std::string(api::kNotSet),
              review.preferred_node_affinity_label}});
  return std::move(patch).Take();
}

std::string LocalPatch(const PodReview& review, GateDecision decision, std::string_view config) {
  if (decision == GateDecision::kOffLimits || decision == GateDecision::kIgnore) return "";
  JsonPatch patch;
  if (decision == GateDecision::kGate) patch.AddGate(review.has_gates, api::kLocalGate);
  patch.Set("/metadata/labels", review.has_labels,
            {{api::kLocalGateLabel, std::string(api::kGated), review.local_gate_label}});
  // A pod with the annotation but without the gate is a copy of another pod: its list starts empty.
  std::string_view before =
      decision == GateDecision::kGate ? std::string_view() : review.local_configs;
  patch.Set("/metadata/annotations", review.has_annotations,
            {{api::kLocalConfigsAnnotation, WithName(before, config), review.local_configs}});
  return std::move(patch).Take();
}

}  // namespace webhook

// SPDX-License-Identifier: Apache-2.0
#include "placement/daemon_nodes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/architecture.h"
#include "api/names.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/types/meta.pb.h"

namespace placement {
namespace {

using kube::Error;
using kube::FieldReader;
using kube::Result;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::PodSpec;
using kube::core::Toleration;
using kube::workloads::Taint;

// The numbers of fields of core/v1.
constexpr int kMetadata = 1;
constexpr int kSpec = 2;

// core/v1 PodSpec.hostNetwork, which the .proto does not have: its number, and the field when true.
constexpr int kHostNetwork = 11;
constexpr std::string_view kOnHostNetwork = "\x58\x01";

// The DaemonSet controller tolerates these taints for its pods.
struct ToleratedTaint {
  std::string_view key;
  std::string_view effect;
  bool only_host_network = false;
};
constexpr ToleratedTaint kTolerated[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
    {"node.kubernetes.io/network-unavailable", "NoSchedule", /*only_host_network=*/true}};

bool OnHostNetwork(const PodSpec& spec) {
  bool on = false;
  FieldReader fields(spec.unknown_fields());
  while (fields.Next()) {
    if (fields.number() == kHostNetwork) on = fields.whole() == kOnHostNetwork;
  }
  return on;
}

std::optional<int64_t> Number(const std::string& text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `value`: nullptr if the node lacks the label.
bool Satisfies(const NodeSelectorRequirement& expression, const std::string* value) {
  const std::string& op = expression.operator_();
  bool listed = value != nullptr &&
                std::find(expression.values().begin(), expression.values().end(), *value) !=
                    expression.values().end();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if (value == nullptr || expression.values_size() != 1) return false;
  std::optional<int64_t> own = Number(*value);
  std::optional<int64_t> bound = Number(expression.values(0));
  if (!own || !bound) return false;
  if (op == "Gt") return *own > *bound;
  return op == "Lt" && *own < *bound;
}

const std::string* Find(const NodeView& node, const std::string& key) {
  auto label = node.labels.find(key);
  return label == node.labels.end() ? nullptr : &label->second;
}

bool Matches(const NodeSelectorTerm& term, const NodeView& node) {
  // Such a term matches no node.
  if (term.match_expressions().empty() && term.match_fields().empty()) return false;
  auto by_label = [&](const NodeSelectorRequirement& expression) {
    return Satisfies(expression, Find(node, expression.key()));
  };
  auto by_field = [&](const NodeSelectorRequirement& expression) {
    return Satisfies(expression, expression.key() == "metadata.name" ? &node.name : nullptr);
  };
  return std::all_of(term.match_expressions().begin(), term.match_expressions().end(), by_label) &&
         std::all_of(term.match_fields().begin(), term.match_fields().end(), by_field);
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect().empty() && toleration.effect() != taint.effect()) return false;
  if (toleration.operator_() == "Exists")
    return toleration.key().empty() || toleration.key() == taint.key();
  return toleration.key() == taint.key() && toleration.value() == taint.value();
}

bool Repels(const Taint& taint, const PodSpec& spec) {
  if (taint.effect() != "NoSchedule" && taint.effect() != "NoExecute") return false;
  auto by_controller = [&](const ToleratedTaint& tolerated) {
    return tolerated.key == taint.key() && tolerated.effect == taint.effect() &&
           (!tolerated.only_host_network || OnHostNetwork(spec));
  };
  if (std::any_of(std::begin(kTolerated), std::end(kTolerated), by_controller)) return false;
  return std::none_of(spec.tolerations().begin(), spec.tolerations().end(),
                      [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

}  // namespace

std::string NodeView::Label(std::string_view key) const {
  const std::string* value = Find(*this, std::string(key));
  return value == nullptr ? "" : *value;
}

Result<NodeView> ParseNode(std::string_view node) {
  std::string_view metadata;
  std::string_view spec;
  FieldReader fields(node);
  while (fields.Next()) {
    if (fields.number() == kMetadata) metadata = fields.bytes();
    if (fields.number() == kSpec) spec = fields.bytes();
  }
  kube::meta::ObjectMeta parsed;
  kube::workloads::NodeSpec taints;
  if (fields.broken() || !kube::ParseMessage(metadata, parsed) ||
      !kube::ParseMessage(spec, taints)) {
    return Error::Invalid("the node is not valid protobuf");
  }
  NodeView view{.name = parsed.name(),
                .labels = {parsed.labels().begin(), parsed.labels().end()},
                .taints = {taints.taints().begin(), taints.taints().end()}};
  return view;
}

PodSpec NodeConstraintsOf(const PodSpec& spec) {
  PodSpec constraints;
  *constraints.mutable_node_selector() = spec.node_selector();
  *constraints.mutable_tolerations() = spec.tolerations();
  const auto& affinity = spec.affinity().node_affinity();
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    *constraints.mutable_affinity()
         ->mutable_node_affinity()
         ->mutable_required_during_scheduling_ignored_during_execution() =
        affinity.required_during_scheduling_ignored_during_execution();
  }
  if (OnHostNetwork(spec)) constraints.mutable_unknown_fields()->append(kOnHostNetwork);
  return constraints;
}

bool RunsOn(const PodSpec& spec, const NodeView& node) {
  for (const auto& [key, value] : spec.node_selector()) {
    const std::string* label = Find(node, key);
    if (label == nullptr || *label != value) return false;
  }
  const auto& affinity = spec.affinity().node_affinity();
  const auto& terms =
      affinity.required_during_scheduling_ignored_during_execution().node_selector_terms();
  if (affinity.has_required_during_scheduling_ignored_during_execution() &&
      std::none_of(terms.begin(), terms.end(),
                   [&](const NodeSelectorTerm& term) { return Matches(term, node); })) {
    return false;
  }
  return std::none_of(node.taints.begin(), node.taints.end(),
                      [&](const Taint& taint) { return Repels(taint, spec); });
}

std::string PlatformOf(const NodeView& node) {
  std::string architecture = node.Label(api::kArchLabel);
  if (!api::IsArchitectureName(architecture)) return "";
  std::string os = node.Label(api::kOsLabel);
  return (IsOsName(os) ? os : std::string(kLinux)) + "/" + architecture;
}

bool SupportNode(const CommonPlatforms& images, const NodeView& node) {
  std::string platform = PlatformOf(node);
  if (images.every || platform.empty()) return true;
  size_t slash = platform.find('/');
  return images.On(platform.substr(0, slash)).contains(platform.substr(slash + 1));
}

}  // namespace placement

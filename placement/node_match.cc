// SPDX-License-Identifier: Apache-2.0
#include "placement/node_match.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/architecture.h"
#include "api/names.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/types/meta.pb.h"
#include "placement/platforms.h"

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

std::string PlatformOf(const NodeView& node) {
  std::string architecture = node.Label(api::kArchLabel);
  if (!api::IsArchitectureName(architecture)) return "";
  std::string os = node.Label(api::kOsLabel);
  return (IsOsName(os) ? os : std::string(kLinux)) + "/" + architecture;
}

bool HasSelectedLabels(const PodSpec& spec, const NodeView& node) {
  return std::all_of(spec.node_selector().begin(), spec.node_selector().end(),
                     [&](const auto& wanted) {
                       const std::string* label = Find(node, wanted.first);
                       return label != nullptr && *label == wanted.second;
                     });
}

bool SatisfiesAffinity(const PodSpec& spec, const NodeView& node) {
  const auto& affinity = spec.affinity().node_affinity();
  if (!affinity.has_required_during_scheduling_ignored_during_execution()) return true;
  const auto& terms =
      affinity.required_during_scheduling_ignored_during_execution().node_selector_terms();
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, node); });
}

bool IsRepelling(const Taint& taint) {
  return taint.effect() == "NoSchedule" || taint.effect() == "NoExecute";
}

bool Tolerates(const PodSpec& spec, const Taint& taint) {
  return std::any_of(spec.tolerations().begin(), spec.tolerations().end(),
                     [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

}  // namespace placement

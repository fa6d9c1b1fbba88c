// SPDX-License-Identifier: Apache-2.0
#include "webhook/placement_patch.h"

#include "kube/admission/json_patch.h"
#include "kube/base/json_text.h"

namespace webhook {
namespace {

using kube::JsonPatch;
using kube::core::NodeAffinity;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

constexpr char kNodeAffinity[] = "/spec/affinity/nodeAffinity";
constexpr char kRequired[] =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] =
    "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";

// Writes an object or a list: Member("key", ...), Item(...).
class Writer {
 public:
  explicit Writer(char open) : text_(1, open) {}

  void Member(std::string_view name, std::string_view json) {
    Next();
    kube::AppendJsonString(text_, name);
    text_ += ':';
    text_ += json;
  }
  void Item(std::string_view json) {
    Next();
    text_ += json;
  }
  std::string End(char close) && { return std::move(text_) + close; }

 private:
  void Next() {
    if (text_.size() > 1) text_ += ',';
  }
  std::string text_;
};

template <class Items, class ToText>
std::string ListOf(const Items& items, ToText to_text) {
  Writer list('[');
  for (const auto& item : items) list.Item(to_text(item));
  return std::move(list).End(']');
}

std::string ToJson(const NodeSelectorRequirement& requirement) {
  Writer object('{');
  object.Member("key", kube::JsonString(requirement.key()));
  object.Member("operator", kube::JsonString(requirement.operator_()));
  if (!requirement.values().empty())
    object.Member("values", ListOf(requirement.values(), [](const std::string& value) {
                    return kube::JsonString(value);
                  }));
  return std::move(object).End('}');
}

std::string ExpressionsOf(const NodeSelectorTerm& term) {
  return ListOf(term.match_expressions(),
                [](const NodeSelectorRequirement& expression) { return ToJson(expression); });
}

// A new term, which has no fields.
std::string ToJson(const NodeSelectorTerm& term) {
  Writer object('{');
  object.Member("matchExpressions", ExpressionsOf(term));
  return std::move(object).End('}');
}

std::string ToJson(const kube::core::PreferredSchedulingTerm& term) {
  Writer object('{');
  object.Member("weight", std::to_string(term.weight()));
  object.Member("preference", ToJson(term.preference()));
  return std::move(object).End('}');
}

std::string ToJson(const kube::core::Toleration& toleration) {
  Writer object('{');
  if (toleration.has_key()) object.Member("key", kube::JsonString(toleration.key()));
  if (toleration.has_operator_())
    object.Member("operator", kube::JsonString(toleration.operator_()));
  if (toleration.has_value()) object.Member("value", kube::JsonString(toleration.value()));
  if (toleration.has_effect()) object.Member("effect", kube::JsonString(toleration.effect()));
  return std::move(object).End('}');
}

template <class Message>
bool Equal(const Message& a, const Message& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// `placed` begins with all items of `before`.
template <class Items>
bool Extends(const Items& before, const Items& placed) {
  if (placed.size() < before.size()) return false;
  for (int i = 0; i < before.size(); ++i) {
    if (!Equal(before[i], placed[i])) return false;
  }
  return true;
}

// Adds the items of `placed` after those of `before` to the list at `path`.
template <class Items>
void AddItems(const Items& before, const Items& placed, bool exists, const std::string& path,
              JsonPatch& patch) {
  if (placed.size() == before.size()) return;
  if (!exists) {
    patch.Add(path, ListOf(placed, [](const auto& item) { return ToJson(item); }));
    return;
  }
  for (int i = before.size(); i < placed.size(); ++i) patch.Add(path + "/-", ToJson(placed[i]));
}

template <class Map>
void AddMap(const Map& before, const Map& placed, bool exists, const std::string& path,
            JsonPatch& patch) {
  if (!exists) {
    if (placed.empty()) return;
    Writer object('{');
    for (const auto& [key, value] : placed) object.Member(key, kube::JsonString(value));
    patch.Add(path, std::move(object).End('}'));
    return;
  }
  for (const auto& [key, value] : placed) {
    auto present = before.find(key);
    if (present == before.end() || present->second != value)
      patch.Add(path + "/" + kube::PointerToken(key), kube::JsonString(value));
  }
  for (const auto& [key, value] : before) {
    if (!placed.contains(key)) patch.Remove(path + "/" + kube::PointerToken(key));
  }
}

// False if a term was changed otherwise than by more expressions.
bool AddRequired(const PodInReview& before, const NodeAffinity& placed, JsonPatch& patch) {
  const auto& old_terms = before.pod.spec()
                              .affinity()
                              .node_affinity()
                              .required_during_scheduling_ignored_during_execution()
                              .node_selector_terms();
  const auto& terms =
      placed.required_during_scheduling_ignored_during_execution().node_selector_terms();
  if (terms.size() < old_terms.size()) return false;
  if (terms.empty()) return true;
  if (old_terms.empty()) {
    Writer required('{');
    required.Member("nodeSelectorTerms",
                    ListOf(terms, [](const NodeSelectorTerm& term) { return ToJson(term); }));
    patch.Add(kRequired, std::move(required).End('}'));
    return true;
  }
  const std::string list = std::string(kRequired) + "/nodeSelectorTerms";
  for (int i = 0; i < terms.size(); ++i) {
    if (i >= old_terms.size()) {
      patch.Add(list + "/-", ToJson(terms[i]));
      continue;
    }
    if (!Extends(old_terms[i].match_expressions(), terms[i].match_expressions())) return false;
    AddItems(old_terms[i].match_expressions(), terms[i].match_expressions(),
             before.terms_with_expressions[static_cast<size_t>(i)],
             list + "/" + std::to_string(i) + "/matchExpressions", patch);
  }
  return true;
}

// False if there are others than in `before`.
bool RemoveGates(const kube::core::PodSpec& before, const kube::core::PodSpec& placed,
                 JsonPatch& patch) {
  int left = placed.scheduling_gates_size();
  for (int i = before.scheduling_gates_size() - 1; i >= 0; --i) {
    bool stays = left > 0 && Equal(before.scheduling_gates(i), placed.scheduling_gates(left - 1));
    if (stays) {
      --left;
    } else {
      patch.Remove("/spec/schedulingGates/" + std::to_string(i));
    }
  }
  return left == 0;
}

}  // namespace

std::optional<std::string> PlacementPatch(const PodInReview& before, const Pod& placed) {
  JsonPatch patch;
  const kube::core::PodSpec& old_spec = before.pod.spec();
  const kube::core::PodSpec& spec = placed.spec();
  AddMap(before.pod.metadata().labels(), placed.metadata().labels(), before.has_labels,
         "/metadata/labels", patch);
  AddMap(before.pod.metadata().annotations(), placed.metadata().annotations(),
         before.has_annotations, "/metadata/annotations", patch);

  if (!RemoveGates(old_spec, spec, patch)) return std::nullopt;

  const NodeAffinity& old_affinity = old_spec.affinity().node_affinity();
  const NodeAffinity& affinity = spec.affinity().node_affinity();
  if (!Equal(old_affinity, affinity)) {
    if (!before.has_affinity) patch.Add("/spec/affinity", "{}");
    if (!before.has_node_affinity) patch.Add(kNodeAffinity, "{}");
    if (!AddRequired(before, affinity, patch)) return std::nullopt;
    const auto& old_preferred = old_affinity.preferred_during_scheduling_ignored_during_execution();
    const auto& preferred = affinity.preferred_during_scheduling_ignored_during_execution();
    if (!Extends(old_preferred, preferred)) return std::nullopt;
    AddItems(old_preferred, preferred, before.has_preferred, kPreferred, patch);
  }
  if (!Extends(old_spec.tolerations(), spec.tolerations())) return std::nullopt;
  AddItems(old_spec.tolerations(), spec.tolerations(), before.has_tolerations, "/spec/tolerations",
           patch);
  return std::move(patch).Take();
}

}  // namespace webhook

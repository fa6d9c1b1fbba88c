// SPDX-License-Identifier: Apache-2.0
#include "webhook/pod_from_json.h"

#include <string>

#include "kube/admission/review_parser.h"

namespace webhook {
namespace {

namespace dom = simdjson::dom;
using kube::ArrayAt;
using kube::ObjectAt;
using kube::StringAt;
using kube::core::NodeSelectorTerm;
using kube::core::PodSpec;

std::string TextAt(dom::element parent, std::string_view key) {
  return std::string(StringAt(parent, key));
}

// A map of strings. False if it is absent.
template <class Map>
bool ReadMap(dom::element parent, std::string_view key, Map& map) {
  dom::element object;
  if (!ObjectAt(parent, key, object)) return false;
  for (dom::key_value_pair member : dom::object(object)) {
    std::string_view value;
    if (member.value.get(value) == simdjson::SUCCESS) map[std::string(member.key)] = value;
  }
  return true;
}

// Calls `read` with each item of the list. False if it is absent.
template <class Read>
bool ReadList(dom::element parent, std::string_view key, Read read) {
  dom::array list;
  if (!ArrayAt(parent, key, list)) return false;
  for (dom::element item : list) read(item);
  return true;
}

void ReadTerm(dom::element json, NodeSelectorTerm& term) {
  auto read = [&](std::string_view key, auto& requirements) {
    ReadList(json, key, [&](dom::element item) {
      kube::core::NodeSelectorRequirement& requirement = *requirements.Add();
      requirement.set_key(TextAt(item, "key"));
      requirement.set_operator_(TextAt(item, "operator"));
      ReadList(item, "values", [&](dom::element value) {
        std::string_view text;
        if (value.get(text) == simdjson::SUCCESS) requirement.add_values(std::string(text));
      });
    });
  };
  read("matchExpressions", *term.mutable_match_expressions());
  read("matchFields", *term.mutable_match_fields());
}

void ReadAffinity(dom::element spec, PodInReview& review) {
  dom::element affinity;
  review.has_affinity = ObjectAt(spec, "affinity", affinity);
  if (!review.has_affinity) return;
  dom::element json;
  review.has_node_affinity = ObjectAt(affinity, "nodeAffinity", json);
  if (!review.has_node_affinity) return;
  kube::core::NodeAffinity& node_affinity =
      *review.pod.mutable_spec()->mutable_affinity()->mutable_node_affinity();
  dom::element required;
  if (ObjectAt(json, "requiredDuringSchedulingIgnoredDuringExecution", required)) {
    ReadList(required, "nodeSelectorTerms", [&](dom::element item) {
      NodeSelectorTerm& term =
          *node_affinity.mutable_required_during_scheduling_ignored_during_execution()
               ->add_node_selector_terms();
      ReadTerm(item, term);
      dom::array expressions;
      review.terms_with_expressions.push_back(ArrayAt(item, "matchExpressions", expressions));
    });
  }
  review.has_preferred =
      ReadList(json, "preferredDuringSchedulingIgnoredDuringExecution", [&](dom::element item) {
        kube::core::PreferredSchedulingTerm& preferred =
            *node_affinity.add_preferred_during_scheduling_ignored_during_execution();
        int64_t weight = 0;
        if (item["weight"].get(weight) == simdjson::SUCCESS)
          preferred.set_weight(static_cast<int32_t>(weight));
        dom::element preference;
        if (ObjectAt(item, "preference", preference))
          ReadTerm(preference, *preferred.mutable_preference());
      });
}

void ReadToleration(dom::element json, kube::core::Toleration& toleration) {
  std::string text = TextAt(json, "key");
  if (!text.empty()) toleration.set_key(text);
  text = TextAt(json, "operator");
  if (!text.empty()) toleration.set_operator_(text);
  text = TextAt(json, "value");
  if (!text.empty()) toleration.set_value(text);
  text = TextAt(json, "effect");
  if (!text.empty()) toleration.set_effect(text);
  int64_t seconds = 0;
  if (json["tolerationSeconds"].get(seconds) == simdjson::SUCCESS)
    toleration.set_toleration_seconds(seconds);
}

void ReadImages(dom::element spec, PodSpec& out) {
  auto read = [&](std::string_view key, auto& containers) {
    ReadList(spec, key, [&](dom::element item) {
      kube::core::Container& container = *containers.Add();
      container.set_image(TextAt(item, "image"));
      container.set_image_pull_policy(TextAt(item, "imagePullPolicy"));
    });
  };
  read("initContainers", *out.mutable_init_containers());
  read("containers", *out.mutable_containers());
  ReadList(spec, "volumes", [&](dom::element item) {
    dom::element image;
    if (!ObjectAt(item, "image", image)) return;
    kube::core::ImageVolumeSource& source = *out.add_volumes()->mutable_source()->mutable_image();
    source.set_reference(TextAt(image, "reference"));
    source.set_pull_policy(TextAt(image, "pullPolicy"));
  });
}

}  // namespace

PodInReview PodFromJson(dom::element object, std::string_view ns) {
  PodInReview review;
  kube::meta::ObjectMeta& metadata = *review.pod.mutable_metadata();
  metadata.set_namespace_(std::string(ns));
  dom::element json;
  if (ObjectAt(object, "metadata", json)) {
    metadata.set_name(TextAt(json, "name"));
    review.has_labels = ReadMap(json, "labels", *metadata.mutable_labels());
    review.has_annotations = ReadMap(json, "annotations", *metadata.mutable_annotations());
  }
  dom::element spec;
  if (!ObjectAt(object, "spec", spec)) return review;
  PodSpec& out = *review.pod.mutable_spec();
  ReadMap(spec, "nodeSelector", *out.mutable_node_selector());
  out.set_node_name(TextAt(spec, "nodeName"));
  out.set_scheduler_name(TextAt(spec, "schedulerName"));
  out.set_service_account_name(TextAt(spec, "serviceAccountName"));
  dom::element os;
  if (ObjectAt(spec, "os", os)) out.mutable_os()->set_name(TextAt(os, "name"));
  ReadAffinity(spec, review);
  review.has_tolerations = ReadList(spec, "tolerations", [&](dom::element item) {
    ReadToleration(item, *out.add_tolerations());
  });
  ReadList(spec, "schedulingGates",
           [&](dom::element item) { out.add_scheduling_gates()->set_name(TextAt(item, "name")); });
  ReadList(spec, "imagePullSecrets", [&](dom::element item) {
    out.add_image_pull_secrets()->set_name(TextAt(item, "name"));
  });
  ReadImages(spec, out);
  return review;
}

}  // namespace webhook

// SPDX-License-Identifier: Apache-2.0
#include "webhook/pod_review.h"

#include <simdjson.h>

#include <string>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/admission/review_parser.h"
#include "placement/creators.h"
#include "webhook/pod_from_json.h"

namespace webhook {
namespace {

namespace dom = simdjson::dom;
using kube::ArrayAt;
using kube::ObjectAt;
using kube::StringAt;

// True if a NodeSelectorTerm has an expression on kubernetes.io/arch.
bool IsOnArchitecture(dom::element term) {
  dom::array expressions;
  if (!ArrayAt(term, "matchExpressions", expressions)) return false;
  for (dom::element expression : expressions) {
    if (StringAt(expression, "key") == api::kArchLabel) return true;
  }
  return false;
}

void ReadAffinity(dom::element spec, placement::PodView& pod) {
  dom::element affinity;
  dom::element node_affinity;
  if (!ObjectAt(spec, "affinity", affinity) || !ObjectAt(affinity, "nodeAffinity", node_affinity))
    return;
  dom::element required;
  dom::array terms;
  if (ObjectAt(node_affinity, "requiredDuringSchedulingIgnoredDuringExecution", required) &&
      ArrayAt(required, "nodeSelectorTerms", terms)) {
    for (dom::element term : terms)
      pod.required_terms_on_architecture.push_back(IsOnArchitecture(term));
  }
  dom::array preferred;
  if (ArrayAt(node_affinity, "preferredDuringSchedulingIgnoredDuringExecution", preferred)) {
    for (dom::element weighted : preferred) {
      dom::element term;
      pod.prefers_architecture |= ObjectAt(weighted, "preference", term) && IsOnArchitecture(term);
    }
  }
}

void ReadMetadata(dom::element metadata, PodReview& review) {
  review.name = StringAt(metadata, "name");
  if (review.name.empty()) review.name = StringAt(metadata, "generateName");

  dom::element labels;
  review.has_labels = ObjectAt(metadata, "labels", labels);
  if (review.has_labels) {
    dom::element operand;
    review.pod.operand = labels[api::kOperandLabel].get(operand) == simdjson::SUCCESS;
    dom::element opted_out;
    review.pod.opted_out = labels[api::kExcludeLabel].get(opted_out) == simdjson::SUCCESS;
    review.cluster_gate_label = StringAt(labels, api::kClusterGateLabel);
    review.local_gate_label = StringAt(labels, api::kLocalGateLabel);
    review.node_affinity_label = StringAt(labels, api::kNodeAffinityLabel);
    review.preferred_node_affinity_label = StringAt(labels, api::kPreferredNodeAffinityLabel);
    dom::element placed;
    review.placed_at_creation =
        labels[api::kPlacedAtCreationLabel].get(placed) == simdjson::SUCCESS;
  }
  dom::element annotations;
  review.has_annotations = ObjectAt(metadata, "annotations", annotations);
  if (review.has_annotations)
    review.local_configs = StringAt(annotations, api::kLocalConfigsAnnotation);

  dom::array owners;
  if (placement::MayBeDaemonSetController(review.user) &&
      ArrayAt(metadata, "ownerReferences", owners)) {
    for (dom::element owner : owners) {
      bool controls = false;
      if (owner["controller"].get(controls) != simdjson::SUCCESS || !controls) continue;
      review.pod.owned_by_daemon_set |= StringAt(owner, "kind") == "DaemonSet" &&
                                        StringAt(owner, "apiVersion").starts_with("apps/");
    }
  }
}

void ReadSpec(dom::element spec, PodReview& review) {
  review.pod.node_name = StringAt(spec, "nodeName");
  dom::object selector;
  if (spec["nodeSelector"].get(selector) == simdjson::SUCCESS) {
    for (dom::key_value_pair field : selector) review.pod.node_selector_keys.push_back(field.key);
  }
  dom::array gates;
  review.has_gates = ArrayAt(spec, "schedulingGates", gates);
  if (review.has_gates) {
    for (dom::element gate : gates) review.pod.gates.push_back(StringAt(gate, "name"));
  }
  ReadAffinity(spec, review.pod);
}

}  // namespace

struct PodReviewReader::State {
  kube::ReviewParser parser;
  // Of the last Read().
  dom::element object;
  std::string ns;
};

PodReviewReader::PodReviewReader() : state_(std::make_unique<State>()) {}
PodReviewReader::~PodReviewReader() = default;

void PodReviewReader::Shrink() { state_->parser.Shrink(); }

PodInReview PodReviewReader::ReadPod() const { return PodFromJson(state_->object, state_->ns); }

kube::Result<PodReview> PodReviewReader::Read(std::string_view body) {
  kube::Result<dom::element> parsed = state_->parser.Parse(body);
  if (!parsed) return parsed.error();
  dom::element request = *parsed;
  PodReview review;
  review.uid = StringAt(request, "uid");
  review.pod.ns = StringAt(request, "namespace");
  dom::element user;
  if (ObjectAt(request, "userInfo", user)) review.user = StringAt(user, "username");
  dom::element kind;
  review.creates_pod = StringAt(request, "operation") == "CREATE" &&
                       ObjectAt(request, "kind", kind) && StringAt(kind, "kind") == "Pod" &&
                       StringAt(kind, "group").empty() && StringAt(request, "subResource").empty();
  dom::element object;
  dom::element metadata;
  dom::element spec;
  review.readable = ObjectAt(request, "object", object) && ObjectAt(object, "metadata", metadata) &&
                    ObjectAt(object, "spec", spec);
  if (review.readable) {
    state_->object = object;
    state_->ns = review.pod.ns;
    ReadMetadata(metadata, review);
    ReadSpec(spec, review);
  }
  return review;
}

}  // namespace webhook

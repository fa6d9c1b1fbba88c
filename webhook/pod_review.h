// SPDX-License-Identifier: Apache-2.0
// PodReview: of the AdmissionReview of a pod, the few fields that decide whether it gets a gate and
// what the patch has to go around. Read in one pass by simdjson, as this happens for every pod that
// is created.
#pragma once

#include <memory>
#include <string_view>

#include "kube/base/error.h"
#include "placement/gating.h"

namespace webhook {

// All views are into the reader, until its next Read().
struct PodReview {
  std::string_view uid;
  // A CREATE of a pod, not of one of its subresources.
  bool creates_pod = false;
  // The object has metadata and a spec, as every pod has; without them the rest of this struct says
  // nothing.
  bool readable = false;
  std::string_view name;
  placement::PodView pod;

  // What is there already, as JSON Patch must not add into what is absent.
  bool has_labels = false;
  bool has_annotations = false;
  bool has_gates = false;
  // Values of our own labels and annotation; empty where absent.
  std::string_view cluster_gate_label;
  std::string_view local_gate_label;
  std::string_view node_affinity_label;
  std::string_view preferred_node_affinity_label;
  std::string_view local_configs;
};

class PodReviewReader {
 public:
  PodReviewReader();
  ~PodReviewReader();

  // kInvalid, saying what is wrong, unless `body` is an AdmissionReview of admission.k8s.io/v1 with
  // a request.
  kube::Result<PodReview> Read(std::string_view body);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace webhook

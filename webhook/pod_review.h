// SPDX-License-Identifier: Apache-2.0
// PodReview: the fields of a pod's AdmissionReview that determine the gate and the patch. simdjson
// reads them in one pass, because this runs for every pod that is created.
#pragma once

#include <memory>
#include <string_view>

#include "kube/base/error.h"
#include "placement/gating.h"
#include "webhook/placement_patch.h"

namespace webhook {

// All views are valid until the reader's next Read() or Shrink().
struct PodReview {
  std::string_view uid;
  // Who makes the request.
  std::string_view user;
  // A CREATE of a pod, not of a subresource.
  bool creates_pod = false;
  // The object has metadata and a spec. If not, the fields below are empty.
  bool readable = false;
  std::string_view name;
  placement::PodView pod;

  // Which parents exist: a JSON Patch cannot add to an absent one.
  bool has_labels = false;
  bool has_annotations = false;
  bool has_gates = false;
  // Values of the operator's labels and annotation; empty if absent.
  std::string_view cluster_gate_label;
  std::string_view local_gate_label;
  std::string_view node_affinity_label;
  std::string_view preferred_node_affinity_label;
  std::string_view local_configs;
  // Has the label api::kPlacedAtCreationLabel.
  bool placed_at_creation = false;
};

class PodReviewReader {
 public:
  PodReviewReader();
  ~PodReviewReader();

  // kInvalid unless `body` is an AdmissionReview of admission.k8s.io/v1 with a request.
  kube::Result<PodReview> Read(std::string_view body);
  // The readable pod of the last Read(), with all that placement reads.
  PodInReview ReadPod() const;
  // Frees the memory that a large review needed.
  void Shrink();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace webhook

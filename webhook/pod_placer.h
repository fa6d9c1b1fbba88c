// SPDX-License-Identifier: Apache-2.0
// PodPlacer: places a pod at its creation, if it can, so that the pod needs no cluster gate. A
// feature implements it; without one, every pod is gated.
#pragma once

#include "kube/types/core.pb.h"

namespace webhook {

class PodPlacer {
 public:
  virtual ~PodPlacer() = default;

  // Places `pod`, as read from a review: its namespace is set, and what placement does not read is
  // not. A pod with the local gate keeps it, and loses the cluster gate. False: the pod has to be
  // gated, and `pod` is to be dropped. Makes no calls.
  virtual bool Place(kube::core::Pod& pod) = 0;
};

}  // namespace webhook

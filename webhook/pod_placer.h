// SPDX-License-Identifier: Apache-2.0
// PodPlacer: what places pods when they are created, instead of gating them. main.cc registers one;
// without it, every pod is gated.
#pragma once

#include "kube/types/core.pb.h"

namespace webhook {

class PodPlacer {
 public:
  virtual ~PodPlacer() = default;

  // For a pod that would get the cluster gate, or has got what Place() sets before in the same
  // admission. `pod` has the fields that placement reads. True: it was changed, and needs no gate.
  // False: it is to be gated, and `pod` to be dropped. Thread: that of the webhook.
  virtual bool Place(kube::core::Pod& pod) = 0;
};

}  // namespace webhook

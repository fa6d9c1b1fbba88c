// SPDX-License-Identifier: Apache-2.0
// PodInspector: the architectures that all images of a pod have in common.
#pragma once

#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "placement/architecture.h"

namespace cluster_controller {

class PodInspector {
 public:
  // All outlive it.
  PodInspector(inspection::ImageInspector& images, PullSecrets& secrets, ControllerMetrics& metrics, kube::Clock& clock)
      : images_(images), secrets_(secrets), metrics_(metrics), clock_(clock) {}

  // Returns: sorted GOARCH names; empty means that the images have none in common, which is not an error.
  // Errors: the first image's that cannot be inspected (it names image, registry and cause), or the API server's for a
  // pull secret.
  kube::Async<placement::ArchitectureSet> Architectures(kube::core::Pod pod);

 private:
  inspection::ImageInspector& images_;
  PullSecrets& secrets_;
  ControllerMetrics& metrics_;
  kube::Clock& clock_;
};

}  // namespace cluster_controller

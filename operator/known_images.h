// SPDX-License-Identifier: Apache-2.0
// KnownImages: with which images the policy of the cluster gate places pods, in a term of
// leadership. main.cc says what it is (image-facts/policy/hot_images.h); without it, all pods are
// gated. Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "operator/objects/known_table.h"

namespace operator_ {

class KnownImages {
 public:
  virtual ~KnownImages() = default;

  // Called when Table() has changed by itself. Before Start().
  virtual void OnChange(std::function<void()> listener) = 0;
  // `tasks` must be stopped before this is destroyed.
  virtual void Start(kube::TaskGroup& tasks) = 0;
  // What pods get by `config`; nullptr: no policy may place any.
  virtual KnownTable Table(const api::ClusterPodPlacementConfig* config) = 0;
};

// `ns`: the operator's namespace. The references outlive the result.
using NewKnownImages = std::function<std::unique_ptr<KnownImages>(
    kube::Client& client, kube::Clock& clock, const std::string& ns)>;

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// KnownImages: what the cluster knows of images, from its ImageFacts and ImageFindings, for
// lookups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec-format/findings/image_finding.h"
#include "image-facts/fact_index.h"
#include "kube/types/core.pb.h"
#include "placement/platforms.h"
#include "plugin/images/pod_image.h"

namespace plugin {

class KnownImages {
 public:
  using Fact = image_facts::FactIndex::Fact;

  void Add(image_facts::FactIndex facts) { objects_.push_back(std::move(facts)); }

  // The newest fact that counts for the pod: registries tell it everybody, or it was learned with
  // the pod's own pull secrets. `image` as the pod has it, untrusted.
  std::optional<Fact> Find(const std::string& image, const kube::core::Pod& pod) const;

  void Add(exec_format::ImageFinding finding);
  // Sets what was found out about the image beside its index, if it counts for pods of `ns`. A
  // finding is known by the name that the image had: its tag may have moved since.
  void Judge(PodImage& image, const std::string& ns) const;

 private:
  std::vector<image_facts::FactIndex> objects_;
  std::vector<exec_format::ImageFinding> findings_;
};

}  // namespace plugin

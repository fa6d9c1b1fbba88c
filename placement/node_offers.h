// SPDX-License-Identifier: Apache-2.0
// NodeOffers: which architectures and operating systems there are nodes for, by the labels of nodes
// and by the NodePools of Karpenter, which adds nodes when pods need them. Whether one of them is
// what a pod requires.
//
//   NodeOffers offers;
//   offers.AddNode(labels);                             // of each node
//   offers.AddNodePool(pool);                           // of each karpenter.sh/v1 NodePool
//   std::optional<RequiredPlatforms> required = RequiredPlatformsOf(pod);
//   if (required && !offers.Fit(*required)) ... the pod stays Pending until a node is added
//
// Only these two labels are compared: a pod that fits may have no node for other reasons. What is
// not understood, or beyond the limits, counts as fitting.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>

#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"
#include "placement/label_range.h"

namespace placement {

// Different ones, of all nodes and NodePools. Real clusters have a handful.
inline constexpr size_t kMaxNodeOffers = 64;
// Of the required node affinity of a pod.
inline constexpr int kMaxRequiredTerms = 64;
// Values in all RequiredPlatforms of a pod. Images for more architectures have a node somewhere.
inline constexpr size_t kMaxRequiredValues = 16;

struct PlatformRange {
  LabelRange architectures;
  LabelRange operating_systems;

  bool Overlaps(const PlatformRange& other) const;
  auto operator<=>(const PlatformRange&) const = default;
};

// What a pod requires of the labels of its node, whoever has set it: one for each term.
using RequiredPlatforms = std::set<PlatformRange>;

// By the node selector and the required node affinity, as the scheduler reads them. nullopt: nodes
// of every architecture may run the pod; or none, and the pod has an event for that; or it is
// beyond the limits.
std::optional<RequiredPlatforms> RequiredPlatformsOf(const kube::core::Pod& pod);
// "arm64"; "amd64 with the operating system windows; arm64".
std::string Describe(const RequiredPlatforms& required);

class NodeOffers {
 public:
  using Labels = google::protobuf::Map<std::string, std::string>;

  void AddNode(const Labels& labels);
  // A karpenter.sh/v1 NodePool. One without a requirement on a label offers all its values. One
  // that is being deleted offers nothing.
  void AddNodePool(const kube::Json& pool);
  // Something that may offer anything.
  void AddUnknown() { unknown_ = true; }

  bool Fit(const RequiredPlatforms& required) const;

 private:
  void Add(PlatformRange range);

  std::set<PlatformRange> offered_;
  bool unknown_ = false;
};

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// The requirement of a pod by the platforms of its images (docs/reference.md, What a pod requires),
// the labels that tell of it, and the tolerations for its architectures.
//
// Not in the model, and reported as not judged: levels of x86-64, images of nodes (pull policy
// Never), builds of Windows, several or excluded operating systems, required terms that are empty.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/checker/configs.h"
#include "sim/checker/image_truth.h"

namespace sim::checker {

using Architectures = std::set<std::string>;

// What all images of a pod have in common.
struct Common {
  // Of each operating system with at least one.
  std::map<std::string, Architectures> by_system;
  // No image has a program: bundles alone, or no image at all.
  bool every = false;

  auto operator<=>(const Common&) const = default;
};
Common CommonOf(const std::vector<Image>& images);

// An image of a pod. A reference that a container and a volume use counts as that of the container.
struct PodImage {
  std::string reference;
  bool always_pull = false;
  bool never_pull = false;
  bool volume = false;
};
std::vector<PodImage> ImagesOf(const Json& pod);

// What is appended to one required term.
struct TermAnswer {
  // Empty: no node can run the pod.
  Architectures architectures;
  std::set<std::string> systems;
  // The term requires these architectures already.
  bool only_systems = false;

  bool operator==(const TermAnswer&) const = default;
};

struct RequirementAnswer {
  // For each required term of the pod, or for the one that is made; nullopt: it stays as it is.
  std::vector<std::optional<TermAnswer>> terms;
  // The labels node-affinity, single-arch, multi-arch, no-supported-arch, fallback-arch and those
  // of architectures that the write sets, and those that it removes.
  std::map<std::string, std::string> labels;
  std::set<std::string> removed_labels;
  // For tolerations: those of the images. Empty: no toleration is added.
  Architectures architectures;
  // Why the model does not say what is required.
  std::string not_judged;
};

// The pod sets its architecture itself: nothing is added.
RequirementAnswer RequireNothing(const Json& before);
RequirementAnswer Require(const Json& before, const Common& common);
// What the images may have in common if this write is right.
std::set<Common> CommonsRequiredBy(const Json& before, const Json& after);
// The images could not be inspected. `fallback`: "" for none.
RequirementAnswer RequireFallback(const Json& before, const std::string& fallback);
// The second decision about a pod that waited for the gates of other controllers: what the first
// one has added to `terms` becomes narrower. nullopt: the images could not be inspected, and it
// stays.
RequirementAnswer Narrow(const Json& before, const std::set<size_t>& terms,
                         const std::optional<Common>& common);

// How the pod `after` differs from the answer, in its required terms and labels; "" if it does not.
std::string DiffersFrom(const RequirementAnswer& answer, const Json& before, const Json& after);

// The tolerations that a plugin adds for these architectures, as canonical texts.
std::multiset<std::string> TolerationsFor(const TolerationPlugin& plugin, const Json& before,
                                          const Architectures& architectures);
std::multiset<std::string> AddedTolerations(const Json& before, const Json& after);

}  // namespace sim::checker

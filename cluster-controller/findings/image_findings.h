// SPDX-License-Identifier: Apache-2.0
// ImageFindings: images that do not run on an architecture that their index names. A feature puts
// in what it has found; pods are placed by it, and no feature needs to know of another.
//
//   findings.Put("name", {.digest = digest, .architecture = "arm64"});
//   findings.WrongFor(digest, "team-a")   // {"arm64"}
//
// Whoever puts findings in bounds them. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "inspection/inspector.h"
#include "placement/architecture.h"

namespace cluster_controller {

class ImageFindings {
 public:
  struct Finding {
    std::string digest;        // of the index
    std::string architecture;  // of linux
    std::string ns = {};       // it counts for the pods of this namespace; "": for all
    // 0: the image does not run there. 2 to 4, of amd64: only on nodes of this level of x86-64.
    int amd64_level = 0;
  };

  // Adds or replaces the finding with this name.
  void Put(const std::string& name, Finding finding);
  void Erase(const std::string& name);
  void Clear();

  // The architectures on which the image with this digest does not run, for pods of `ns`.
  placement::ArchitectureSet WrongFor(const std::string& digest, const std::string& ns) const;
  // The level of x86-64 that it needs, for pods of `ns`; 0: not known.
  int Amd64LevelFor(const std::string& digest, const std::string& ns) const;
  // Whether there is a finding about it, for whatever namespace.
  bool Has(const std::string& digest) const { return by_digest_.contains(digest); }
  size_t size() const { return names_.size(); }

  // The architectures of all nodes; empty if they are not known. A finding does not count if it
  // leaves none of them.
  void SetOffered(placement::ArchitectureSet offered) { offered_ = std::move(offered); }
  const placement::ArchitectureSet& offered() const { return offered_; }

  // `listener` is called with the digest of each finding that is put in; it may be empty.
  void OnPut(std::function<void(const std::string& digest)> listener) {
    put_ = std::move(listener);
  }

  // To be called with each image of a pod that was inspected, and its listener. The references do
  // not outlive the call.
  void Inspected(const inspection::ImageRequest& request,
                 const inspection::Inspected& image) const {
    if (inspected_) inspected_(request, image);
  }
  void OnInspected(
      std::function<void(const inspection::ImageRequest&, const inspection::Inspected&)> listener) {
    inspected_ = std::move(listener);
  }

 private:
  // Those of the digest that count for pods of `ns`.
  void ForEach(const std::string& digest, const std::string& ns,
               const std::function<void(const Finding&)>& visit) const;

  std::map<std::string, Finding> names_;
  // Names of findings.
  std::multimap<std::string, std::string> by_digest_;
  placement::ArchitectureSet offered_;
  std::function<void(const std::string&)> put_;
  std::function<void(const inspection::ImageRequest&, const inspection::Inspected&)> inspected_;
};

}  // namespace cluster_controller

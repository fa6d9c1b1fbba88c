// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/findings/image_findings.h"

#include <algorithm>
#include <utility>

namespace cluster_controller {

void ImageFindings::Put(const std::string& name, Finding finding) {
  Erase(name);
  const std::string digest = finding.digest;
  by_digest_.emplace(digest, name);
  names_.emplace(name, std::move(finding));
  if (put_) put_(digest);
}

void ImageFindings::Erase(const std::string& name) {
  auto found = names_.find(name);
  if (found == names_.end()) return;
  auto [begin, end] = by_digest_.equal_range(found->second.digest);
  for (auto at = begin; at != end; ++at) {
    if (at->second != name) continue;
    by_digest_.erase(at);
    break;
  }
  names_.erase(found);
}

void ImageFindings::Clear() {
  names_.clear();
  by_digest_.clear();
}

void ImageFindings::ForEach(const std::string& digest, const std::string& ns,
                            const std::function<void(const Finding&)>& visit) const {
  auto [begin, end] = by_digest_.equal_range(digest);
  for (auto at = begin; at != end; ++at) {
    const Finding& finding = names_.at(at->second);
    if (finding.ns.empty() || finding.ns == ns) visit(finding);
  }
}

placement::ArchitectureSet ImageFindings::WrongFor(const std::string& digest,
                                                   const std::string& ns) const {
  placement::ArchitectureSet wrong;
  ForEach(digest, ns, [&](const Finding& finding) {
    if (finding.amd64_level == 0) wrong.insert(finding.architecture);
  });
  return wrong;
}

int ImageFindings::Amd64LevelFor(const std::string& digest, const std::string& ns) const {
  int level = 0;
  ForEach(digest, ns,
          [&](const Finding& finding) { level = std::max(level, finding.amd64_level); });
  return level;
}

}  // namespace cluster_controller

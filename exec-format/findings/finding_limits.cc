// SPDX-License-Identifier: Apache-2.0
#include "exec-format/findings/finding_limits.h"

#include <algorithm>
#include <map>

namespace exec_format {

bool IsExpired(const ImageFinding& finding, std::chrono::sys_seconds now) {
  // A later time is of a clock that was ahead: it must not stay for ever.
  return !finding.ignored &&
         (finding.seen + kFindingLifetime <= now || finding.seen > now + kFindingLifetime);
}

std::vector<std::string> MakeRoom(const std::vector<ImageFinding>& all, std::string_view ns) {
  std::map<std::string_view, std::vector<const ImageFinding*>> by_namespace;
  size_t count = 0;
  for (const ImageFinding& finding : all) {
    if (finding.ignored) continue;
    by_namespace[finding.of_namespace].push_back(&finding);
    ++count;
  }
  // The newest first.
  for (auto& [owner, findings] : by_namespace) {
    std::sort(findings.begin(), findings.end(),
              [](const auto* a, const auto* b) { return a->seen > b->seen; });
  }
  std::vector<std::string> removed;
  auto remove_oldest = [&](std::vector<const ImageFinding*>& findings) {
    removed.push_back(findings.back()->metadata().name());
    findings.pop_back();
    --count;
  };
  std::vector<const ImageFinding*>& own = by_namespace[ns];
  while (own.size() >= kMaxFindingsOfNamespace) remove_oldest(own);
  while (count >= kMaxFindings) {
    auto most = std::max_element(
        by_namespace.begin(), by_namespace.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    remove_oldest(most->second);
  }
  return removed;
}

}  // namespace exec_format

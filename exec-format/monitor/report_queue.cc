// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/report_queue.h"

#include <algorithm>
#include <utility>

namespace exec_format {

using kube::TimePoint;

ReportQueue::Pod* ReportQueue::PodOf(const std::string& uid) {
  TimePoint now = clock_.Now();
  std::erase_if(pods_, [now](const Pod& pod) {
    return pod.waiting.empty() && now >= pod.since + kRepeatAfter;
  });
  auto found =
      std::find_if(pods_.begin(), pods_.end(), [&](const Pod& pod) { return pod.uid == uid; });
  if (found == pods_.end()) {
    if (pods_.size() == kMaxPods) return nullptr;
    pods_.push_back({.uid = uid, .since = now});
    return &pods_.back();
  }
  if (now >= found->since + kRepeatAfter) {
    found->since = now;
    found->known.clear();
  }
  return &*found;
}

void ReportQueue::Add(Finding finding) {
  Pod* pod = PodOf(finding.container.pod_uid);
  if (pod == nullptr) {
    ++dropped_.pods;
    return;
  }
  std::string what = finding.container.id + " " + finding.command;
  if (std::find(pod->known.begin(), pod->known.end(), what) != pod->known.end()) {
    ++dropped_.repeated;
  } else if (pod->known.size() == kOfAPod) {
    ++dropped_.of_pod;
  } else {
    pod->known.push_back(std::move(what));
    pod->waiting.push_back(std::move(finding));
    ++waiting_;
  }
}

std::optional<Finding> ReportQueue::Next() {
  Pod* next = nullptr;
  for (Pod& pod : pods_) {
    if (!pod.waiting.empty() && (next == nullptr || pod.last_turn < next->last_turn)) next = &pod;
  }
  if (next == nullptr) return std::nullopt;
  pace_.Take();
  next->last_turn = ++turn_;
  Finding finding = std::move(next->waiting.front());
  next->waiting.pop_front();
  --waiting_;
  return finding;
}

}  // namespace exec_format

// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/pod_waits.h"

#include <algorithm>

namespace e2e {

void PodWaits::FaultBegins(const std::string& kind, Time at) {
  faults_.push_back({kind, at, Time::max()});
}

void PodWaits::FaultEnds(const std::string& kind, Time at) {
  for (auto fault = faults_.rbegin(); fault != faults_.rend(); ++fault) {
    if (fault->kind != kind) continue;
    fault->end = at;
    return;
  }
}

void PodWaits::Saw(const std::string& uid, const std::string& pod, bool gated, Time at) {
  Pod& known = pods_[uid];
  known.name = pod;
  if (gated && !known.gated) known.since = at;
  if (!gated && known.gated) waits_.push_back({pod, known.since, at});
  known.gated = gated;
}

std::map<std::string, std::string> PodWaits::Waiting() const {
  std::map<std::string, std::string> waiting;
  for (const auto& [uid, pod] : pods_) {
    if (pod.gated) waiting[uid] = pod.name;
  }
  return waiting;
}

void PodWaits::Count(const Wait& wait, Summary& summary) {
  ++summary.pods;
  if (wait.to - wait.from < summary.longest) return;
  summary.longest = wait.to - wait.from;
  summary.pod = wait.pod;
}

bool PodWaits::Touches(const Fault& fault, const Wait& wait) {
  const bool goes_on = fault.end == Time::max();
  return fault.begin <= wait.to && (goes_on || fault.end + kAftermath >= wait.from);
}

PodWaits::Summary PodWaits::Of(const std::string& kind) const {
  Summary summary;
  for (const Wait& wait : waits_) {
    auto touches = [&](const Fault& fault) { return fault.kind == kind && Touches(fault, wait); };
    if (std::any_of(faults_.begin(), faults_.end(), touches)) Count(wait, summary);
  }
  return summary;
}

PodWaits::Summary PodWaits::WithoutFault() const {
  Summary summary;
  for (const Wait& wait : waits_) {
    auto touches = [&](const Fault& fault) { return Touches(fault, wait); };
    if (std::none_of(faults_.begin(), faults_.end(), touches)) Count(wait, summary);
  }
  return summary;
}

PodWaits::Summary PodWaits::Total() const {
  Summary summary;
  for (const Wait& wait : waits_) Count(wait, summary);
  return summary;
}

}  // namespace e2e

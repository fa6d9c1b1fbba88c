// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/event_ledger.h"

#include <algorithm>

#include "api/names.h"

namespace sim::checker {
namespace {

// A takeover of a pod that keeps the cluster gate has an event of its own reason.
bool HasReleaseEvent(const PodChange& change) {
  switch (change.writer.program) {
    case Program::kShard:
      return change.Removes(api::kLocalGate);
    case Program::kClusterController:
      return change.Removes(api::kClusterGate) ||
             (change.Removes(api::kLocalGate) && !HasGate(change.before, api::kClusterGate));
    default:
      return false;  // the operator's teardown has none
  }
}

}  // namespace

void EventLedger::Add(const Commit& commit, const Writer& writer) {
  if (IsPodChange(commit)) {
    PodChange change{commit, writer, *commit.before, *commit.after};
    if (!HasReleaseEvent(change)) return;
    OfPod& pod = pods_[kube::StringAt(change.after, "metadata.uid")];
    pod.name = commit.key.ToString();
    pod.releases.insert(commit.version);
  }
  if (!IsOf(commit, "", "events") || !commit.after) return;
  const Json& event = *commit.after;
  if (kube::StringAt(event, "reason") != api::kReasonGateRemoved ||
      kube::StringAt(event, "source.component") != api::kEventComponent)
    return;
  auto count = [](const Json& of) {
    return static_cast<uint64_t>(std::max<int64_t>(kube::IntAt(of, "count", 1), 1));
  };
  pods_[kube::StringAt(event, "involvedObject.uid")].events +=
      count(event) - (commit.before ? count(*commit.before) : 0);
}

void EventLedger::Finish(const EventCounters& counters, Time end, Violations& violations) const {
  constexpr size_t kNamed = 5;
  uint64_t missing = 0;
  std::string named;
  size_t pods = 0;
  for (const auto& [uid, pod] : pods_) {
    uint64_t expected = static_cast<uint64_t>(std::count_if(
        pod.releases.begin(), pod.releases.end(),
        [&](uint64_t version) { return !counters.unacknowledged.contains(version); }));
    if (expected <= pod.events) continue;
    missing += expected - pod.events;
    if (pods++ < kNamed) named += (named.empty() ? "" : ", ") + pod.name;
  }
  uint64_t counted = counters.dropped + counters.waiting + counters.lost_with_process;
  if (missing <= counted) return;
  violations.push_back({"events", "events",
                        std::to_string(missing) + " events of " + std::to_string(pods) +
                            " pods are missing (" + named + "), and " + std::to_string(counted) +
                            " are counted",
                        0, end});
}

}  // namespace sim::checker

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
  if (IsOf(commit, "", "pods") && !commit.before && commit.after)
    pods_[kube::StringAt(*commit.after, "metadata.uid")].whole = true;
  if (IsPodChange(commit)) {
    PodChange change{commit, writer, *commit.before, *commit.after};
    OfPod& pod = pods_[kube::StringAt(change.after, "metadata.uid")];
    pod.name = commit.key.ToString();
    if (writer.Is(Program::kShard) || writer.Is(Program::kClusterController)) {
      for (std::string_view gate : {api::kLocalGate, api::kClusterGate})
        pod.gates += change.Removes(gate) ? 1 : 0;
    }
    if (!HasReleaseEvent(change)) return;
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

void EventLedger::FindRepeated(Time end, Violations& violations) const {
  for (const auto& [uid, pod] : pods_) {
    if (!pod.whole || pod.events <= pod.gates) continue;
    violations.push_back({"events", "events",
                          "pod " + pod.name + " has " + std::to_string(pod.events) +
                              " events of removed gates, and programs removed " +
                              std::to_string(pod.gates),
                          0, end});
    return;
  }
}

void EventLedger::Finish(const EventCounters& counters, Time end, Violations& violations) const {
  FindRepeated(end, violations);
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

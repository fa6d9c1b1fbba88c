// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/gate_rules.h"

#include "api/names.h"
#include "sim/checker/user_fields.h"

namespace sim::checker {
namespace {

constexpr std::string_view kGates[] = {api::kLocalGate, api::kClusterGate};

const Json& AffinityOf(const Json& pod) {
  static const Json kNone;
  const Json* affinity = kube::Find(pod, "spec.affinity");
  return affinity == nullptr ? kNone : *affinity;
}

}  // namespace

void CheckGateOrder(const PodChange& change, Violations& violations) {
  if (!change.writer.IsOurs() || !change.Removes(api::kClusterGate)) return;
  const std::string who = change.writer.Describe();
  if (HasGate(change.after, api::kLocalGate)) {
    violations.push_back(
        At(change.commit, "I1", who + " removed the cluster gate of a pod with the local gate"));
  }
  if (change.writer.Is(Program::kShard))
    violations.push_back(At(change.commit, "I1", who + " removed the cluster gate"));
}

bool ChangesPlacement(const PodChange& change) {
  return AffinityOf(change.before) != AffinityOf(change.after) ||
         TolerationsOf(change.before) != TolerationsOf(change.after);
}

bool IsFirstDecision(const PodChange& change) {
  return change.writer.Is(Program::kClusterController) &&
         HasGate(change.before, api::kClusterGate) && HasGate(change.after, api::kClusterGate) &&
         !HasGate(change.after, api::kLocalGate) && !OtherGates(change.after).empty() &&
         TolerationsOf(change.before) == TolerationsOf(change.after);
}

void CheckGateWithDecision(const PodChange& change, Violations& violations) {
  if (!change.writer.IsOurs()) return;
  const std::string who = change.writer.Describe();
  auto report = [&](const std::string& text) {
    violations.push_back(At(change.commit, "I2", who + " " + text));
  };
  for (std::string_view gate : kGates) {
    if (!HasGate(change.before, gate) && HasGate(change.after, gate))
      report("added the gate " + std::string(gate));
    bool undecided = change.writer.Is(Program::kOperator) && !HasLabel(change.after, gate);
    if (change.Removes(gate) && LabelOf(change.after, gate) != api::kRemoved && !undecided) {
      report("removed the gate " + std::string(gate) + ", and its label is \"" +
             LabelOf(change.after, gate) + "\"");
    }
  }
  if (!IsGated(change.before)) {
    std::string changed = DescribeDifference(change.before, change.after);
    bool is_report = change.writer.Is(Program::kClusterController) &&
                     OnlyReportsExecFormatError(change.before, change.after);
    if (!changed.empty() && !is_report) report("wrote a pod that it had released: " + changed);
    return;
  }
  if (ChangesPlacement(change) && !change.RemovesGate() && !IsFirstDecision(change))
    report("changed affinity or tolerations without removing a gate");
}

}  // namespace sim::checker

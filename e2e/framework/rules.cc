// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/rules.h"

#include "api/names.h"
#include "e2e/framework/other_gates.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

// "from resourceVersion 12 to 13"
std::string Between(const Json& before, const Json& after) {
  return "from resourceVersion " + kube::StringAt(before, "metadata.resourceVersion") + " to " +
         kube::StringAt(after, "metadata.resourceVersion");
}

Result<> GateRemovedWithItsDecision(const Json& before, const Json& after) {
  bool dropped = false;
  for (std::string_view gate : {api::kLocalGate, api::kClusterGate}) {
    if (!HasGate(before, gate) || HasGate(after, gate)) continue;
    dropped = true;
    if (LabelOf(after, std::string(gate)) != api::kRemoved) {
      return Error::Invalid(std::string(gate) + " was removed without its label, " +
                            Between(before, after));
    }
  }
  for (const char* field : {"spec.affinity", "spec.tolerations"}) {
    const Json* field_before = kube::Find(before, field);
    const Json* field_after = kube::Find(after, field);
    bool changed = (field_before == nullptr) != (field_after == nullptr) ||
                   (field_before != nullptr && *field_before != *field_after);
    if (changed && !dropped && !IsFirstDecision(before, after))
      return Error::Invalid(std::string(field) + " changed without a gate being removed, " +
                            Between(before, after));
  }
  if (dropped && !IsGated(after) && LabelOf(after, std::string(api::kNodeAffinityLabel)).empty()) {
    return Error::Invalid("was ungated before its requirement was decided, " +
                          Between(before, after));
  }
  if (!IsGated(before) && OperatorFieldsIn(before) != OperatorFieldsIn(after)) {
    return Error::Invalid("was changed after it was ungated, " + Between(before, after));
  }
  return Ok();
}

PodRule NeverWith(const std::string& name, bool (*wrong)(const Json&)) {
  return {name, [wrong](const PodHistory& history) -> Result<> {
            for (const PodEvent& event : history.events) {
              if (wrong(event.pod)) return Error::Invalid("at " + Between(event.pod, event.pod));
            }
            return Ok();
          }};
}

}  // namespace

PodRule ClusterGateRemovedBeforeLocal() {
  return {"the cluster gate was removed before the local gate",
          [](const PodHistory& history) -> Result<> {
            for (size_t i = 1; i < history.events.size(); ++i) {
              const Json& before = history.events[i - 1].pod;
              const Json& after = history.events[i].pod;
              bool went = HasGate(before, api::kClusterGate) && !HasGate(after, api::kClusterGate);
              if (went && HasGate(after, api::kLocalGate))
                return Error::Invalid(Between(before, after));
            }
            return Ok();
          }};
}

PodRule GateRemovedWithoutItsDecision() {
  return {"a gate was removed without its decision", [](const PodHistory& history) -> Result<> {
            for (size_t i = 1; i < history.events.size(); ++i) {
              Result<> kept =
                  GateRemovedWithItsDecision(history.events[i - 1].pod, history.events[i].pod);
              if (!kept) return kept;
            }
            return Ok();
          }};
}

PodRule CreatedWithoutClusterGate() {
  return {"was created without the cluster gate", [](const PodHistory& history) -> Result<> {
            if (HasGate(history.events.front().pod, api::kClusterGate)) return Ok();
            return Error::Invalid("its first event has no cluster gate");
          }};
}

PodRule HadLocalGate() {
  return NeverWith("had the local gate",
                   [](const Json& pod) { return HasGate(pod, api::kLocalGate); });
}

PodRule HadGate() { return NeverWith("had a gate", IsGated); }

PodRule OperandHadGate() {
  PodRule rule = NeverWith("an operand had a gate", IsGated);
  rule.of_operands = true;
  return rule;
}

}  // namespace e2e

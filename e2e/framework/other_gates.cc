// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/other_gates.h"

#include "api/names.h"
#include "kube/types/list_at.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

std::vector<std::string> OtherGatesOf(const Json& pod) {
  std::vector<std::string> others;
  for (const Json& entry : kube::ListAt(pod, "spec.schedulingGates")) {
    std::string name = kube::StringAt(entry, "name");
    if (name != api::kClusterGate && name != api::kLocalGate) others.push_back(name);
  }
  return others;
}

bool IsFirstDecision(const Json& before, const Json& after) {
  const std::string label(api::kNodeAffinityLabel);
  return HasGate(after, api::kClusterGate) && !OtherGatesOf(after).empty() &&
         LabelOf(before, label) != api::kSet && TolerationsOf(before) == TolerationsOf(after);
}

PodRule OtherGatesNotAwaited() {
  return {
      "did not await the gates of other controllers", [](const PodHistory& history) -> Result<> {
        for (size_t i = 1; i < history.events.size(); ++i) {
          const Json& before = history.events[i - 1].pod;
          const Json& after = history.events[i].pod;
          if (OtherGatesOf(after).empty()) continue;
          bool removed = HasGate(before, api::kClusterGate) && !HasGate(after, api::kClusterGate);
          if (removed || TolerationsOf(before) != TolerationsOf(after))
            return Error::Invalid("at resourceVersion " +
                                  kube::StringAt(after, "metadata.resourceVersion"));
        }
        return Ok();
      }};
}

}  // namespace e2e

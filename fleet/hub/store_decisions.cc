// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/store_decisions.h"

#include "fleet/rollout/decisions.h"

namespace fleet {

PlacementRollout StoreDecisions::DecidedBy(const std::string& ns, const PlacementRef& ref) const {
  kube::ObjectKey key{ns, ref.name};
  // What is not known must not be removed from clusters.
  if (store_.decisions().Incomplete(key))
    return {.name = ref.name, .strategy = ref.strategy, .decided = false};
  return RolloutOf(ref, store_.Find(key), store_.decisions().DecisionsOf(key),
                   [&](const std::string& cluster) { return store_.MaySelect(ns, cluster); });
}

}  // namespace fleet

// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/leader.h"

#include "fleet/hub/explain.h"

namespace fleet {

using kube::ObjectKey;

namespace {

// For a Placement whose writes fail.
constexpr std::chrono::seconds kMaxBackoff{30};

}  // namespace

Leader::Leader(LeaderParts parts, LeaderOptions options, kube::TaskGroup& tasks)
    : parts_(parts),
      options_(options),
      store_(parts_.clock,
             [this](const ObjectKey& key) { controller_.EnqueueAfter(key, kCoalesce); }),
      watch_(parts_.client, parts_.clock, store_),
      cel_(parts_.client, parts_.clock, parts_.evaluator, store_, tasks),
      reconciler_(parts_.client, parts_.clock, store_, cel_, parts_.events, options_.reconciler),
      controller_({.name = kPlacementController,
                   .workers = options_.workers,
                   .queue = {.max_delay = kMaxBackoff}},
                  reconciler_, parts_.clock, parts_.observer) {
  parts_.current = this;
}

boost::asio::awaitable<void> Leader::Run(kube::TaskGroup& tasks) {
  watch_.Start(tasks);
  tasks.Spawn(controller_.name(), controller_.Run(tasks));
  co_return;
}

kube::Result<kube::Json> Leader::Answer(const ObjectKey& placement, const kube::Json* simulated) {
  return Explain(store_, cel_, parts_.clock.WallNow(), options_.reconciler.schedule, placement,
                 simulated);
}

}  // namespace fleet

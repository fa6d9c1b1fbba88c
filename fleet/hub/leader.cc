// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/leader.h"

#include "fleet/api/budgets.h"
#include "fleet/hub/explain.h"
#include "kube/base/notifier.h"
#include "kube/types/core.pb.h"

namespace fleet {

using kube::ObjectKey;

Leader::Leader(LeaderParts parts, LeaderOptions options, kube::TaskGroup& tasks)
    : parts_(parts),
      options_(options),
      tasks_(tasks),
      store_(parts_.clock,
             [this](const ObjectKey& key) { controller_.EnqueueAfter(key, kCoalesce); }),
      watch_(parts_.client, parts_.clock, store_),
      // Half of the workers decide Placements without CEL, whatever expressions do.
      cel_(parts_.client, parts_.clock, parts_.evaluator, store_, tasks, options_.workers / 2),
      reconciler_(parts_.client, parts_.clock, store_, cel_, parts_.events, options_.reconciler),
      controller_({.name = kPlacementController, .workers = options_.workers}, reconciler_,
                  parts_.clock, parts_.observer),
      decisions_(store_, watch_),
      rollouts_({parts_.client, parts_.clock, parts_.events, decisions_, parts_.rollout_observer,
                 options_.works},
                options_.workers) {
  store_.OnDecisions([this](const ObjectKey& key) { rollouts_.PlacementChanged(key); });
  ForEachBounded([this](BoundedWatch& watch) {
    watch.Listen([this](const kube::Resource& resource, const ObjectKey& key,
                        const std::string& message) { RecordLeftOut(resource, key, message); });
  });
  if (options_.membership) membership_.emplace(parts_.client, parts_.clock, *options_.membership);
  if (!options_.image_facts_namespace.empty()) {
    image_facts_.emplace(
        parts_.client, parts_.clock, parts_.events,
        FactCollectorOptions{options_.image_facts_namespace, [this](const std::string& cluster) {
                               return store_.SharesImageFacts(cluster);
                             }});
  }
  parts_.current = this;
}

boost::asio::awaitable<void> Leader::Run(kube::TaskGroup& tasks) {
  co_await kube::IgnoreCancellation();
  watch_.Start(tasks);
  tasks.Spawn(controller_.name(), controller_.Run(tasks));
  rollouts_.Start(tasks);
  if (membership_) membership_->Start(tasks);
  if (image_facts_) {
    // Before that, no cluster is known to be trusted.
    kube::Result<> synced = co_await watch_.WaitForSync();
    if (synced) image_facts_->Start(tasks);
  }
  co_return;
}

void Leader::RecordLeftOut(const kube::Resource& resource, const ObjectKey& key,
                           const std::string& message) {
  kube::core::ObjectReference reference;
  reference.set_api_version(resource.ApiVersion());
  reference.set_kind(std::string(resource.kind));
  reference.set_namespace_(key.ns);
  reference.set_name(key.name);
  parts_.events.Record(reference, /*warning=*/true, kTooLarge, message);
}

struct Leader::Question {
  std::optional<kube::Result<kube::Json>> answer;
  kube::Notifier answered;
};

kube::Async<kube::Json> Leader::Answer(ObjectKey placement, std::optional<kube::Json> simulated) {
  auto question = std::make_shared<Question>();
  tasks_.Spawn("explain", AnswerTo(question, std::move(placement), std::move(simulated)));
  // From here on this may be destroyed.
  while (!question->answer) {
    kube::Result<> waited = co_await question->answered.Wait();
    if (!waited) co_return waited.error();
  }
  co_return std::move(*question->answer);
}

boost::asio::awaitable<void> Leader::AnswerTo(std::shared_ptr<Question> question,
                                              ObjectKey placement,
                                              std::optional<kube::Json> simulated) {
  co_await kube::IgnoreCancellation();
  kube::Result<kube::Json> answer =
      co_await Explain(store_, cel_, parts_.clock, options_.reconciler.schedule,
                       std::move(placement), std::move(simulated));
  question->answer = std::move(answer);
  question->answered.NotifyAll();
}

}  // namespace fleet

// SPDX-License-Identifier: Apache-2.0
// ClusterCel: evaluates the CEL of Placements for the ManagedClusters of a hub. Expressions read
// any field of the objects, so these are watched as a whole, from the first Placement with CEL on,
// within the limits of fleet/api/budgets.h.
// Thread: the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fleet/cel/cached_selectors.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/placement_cel.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

class ClusterCel final : public PlacementCel, private cel::ClusterTexts {
 public:
  // The references outlive this; `tasks` ends the watch. `max_answered`: namespaces whose questions
  // are answered at a time, each for one caller.
  ClusterCel(kube::Client& client, kube::Clock& clock, cel::Evaluator& evaluator, FleetStore& store,
             kube::TaskGroup& tasks, size_t max_answered = cel::CachedSelectors::kMaxAnswered);

  // PlacementCel
  bool Prepare() override;
  bool Busy(const std::string& ns) const override { return selectors_.Busy(ns); }
  CelSelectors& Begin(const std::string& ns) override;
  cel::Questions TakeQuestions() override { return selectors_.TakeQuestions(); }
  std::string TakeRefusal() override { return selectors_.TakeRefusal(); }
  kube::Async<kube::Duration> Answer(cel::Questions questions) override {
    return selectors_.Answer(std::move(questions));
  }

 private:
  // cel::ClusterTexts
  std::optional<std::string> Json(const std::string& cluster) override;
  cel::ScoreTable Scores(const std::string& cluster) override;
  std::string Refusal(const std::string& cluster) override;

  FleetStore& store_;
  kube::TaskGroup& tasks_;
  cel::CachedSelectors selectors_;
  kube::Informer<kube::Unstructured> clusters_;
  bool started_ = false;
  // FleetStore::cel_changes() when the selectors in use were found out.
  uint64_t retained_ = 0;
};

}  // namespace fleet

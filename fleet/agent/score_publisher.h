// SPDX-License-Identifier: Apache-2.0
// ScorePublisher: the AddOnPlacementScore `multiarch` of this cluster, on the hub. Written when a
// score moved by 5 or half of the validity is over (fleet/scores); never from a watch that fails,
// so that the scores of a cluster that the agent cannot see expire. Thread: the clients'.
#pragma once

#include <optional>
#include <string>

#include "fleet/agent/member_usage.h"
#include "fleet/agent/publisher.h"
#include "fleet/scores/scores.h"
#include "kube/client/client.h"

namespace fleet {

class ScorePublisher final : public Publisher {
 public:
  static constexpr std::chrono::seconds kEvery{10};

  ScorePublisher(kube::Client& hub, const MemberUsage& usage, kube::Clock& clock,
                 std::string cluster, ScoreOptions options)
      : hub_(hub), usage_(usage), clock_(clock), cluster_(std::move(cluster)), options_(options) {}

  std::string_view name() const override { return "scores"; }
  kube::Async<kube::Duration> Publish() override;

 private:
  kube::Async<> Read();
  kube::Async<> Write(const Scores& scores, kube::WallTime valid_until);

  kube::Client& hub_;
  const MemberUsage& usage_;
  kube::Clock& clock_;
  std::string cluster_;
  ScoreOptions options_;
  // What the hub has, if known_; read once, then what was written.
  bool known_ = false;
  std::optional<StoredScores> stored_;
};

}  // namespace fleet

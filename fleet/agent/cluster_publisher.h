// SPDX-License-Identifier: Apache-2.0
// Publishers of the ManagedCluster: its status, and the Lease by which the hub knows that the agent
// lives. Thread: the clients'.
#pragma once

#include <optional>
#include <string>

#include "fleet/agent/cluster_status.h"
#include "fleet/agent/member_usage.h"
#include "fleet/agent/publisher.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"

namespace fleet {

class LeasePublisher final : public Publisher {
 public:
  // `clusters`: the ManagedCluster named `cluster`, from a watch.
  LeasePublisher(kube::Client& hub, const kube::Reader<kube::Unstructured>& clusters,
                 kube::Clock& clock, std::string cluster)
      : hub_(hub), clusters_(clusters), clock_(clock), cluster_(std::move(cluster)) {}

  std::string_view name() const override { return "lease"; }
  kube::Async<kube::Duration> Publish() override;

 private:
  kube::Client& hub_;
  const kube::Reader<kube::Unstructured>& clusters_;
  kube::Clock& clock_;
  std::string cluster_;
};

class StatusPublisher final : public Publisher {
 public:
  // How often the status is compared, and how often the member's API server is asked.
  static constexpr std::chrono::seconds kEvery{10};
  static constexpr std::chrono::seconds kProbeEvery{60};

  StatusPublisher(kube::Client& hub, kube::Client& member,
                  const kube::Reader<kube::Unstructured>& clusters, const MemberUsage& usage,
                  kube::Clock& clock, std::string cluster)
      : hub_(hub),
        member_(member),
        clusters_(clusters),
        usage_(usage),
        clock_(clock),
        cluster_(std::move(cluster)) {}

  std::string_view name() const override { return "status"; }
  // Errors: also kNotFound if the hub has no such ManagedCluster.
  kube::Async<kube::Duration> Publish() override;

 private:
  // Asks the API server of the member for its version, which shows that it answers.
  kube::Async<> Probe();

  kube::Client& hub_;
  kube::Client& member_;
  const kube::Reader<kube::Unstructured>& clusters_;
  const MemberUsage& usage_;
  kube::Clock& clock_;
  std::string cluster_;
  std::string version_;
  std::optional<std::string> unavailable_;
  std::optional<kube::TimePoint> probed_at_;
};

}  // namespace fleet

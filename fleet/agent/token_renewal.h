// SPDX-License-Identifier: Apache-2.0
// TokenRenewal: renews the agent's token of the hub at half of its life, in the Secret of the
// member from which all replicas have it as a file. Without that Secret, or before its time, it
// writes nothing. A refused write does not request another token while the first is young.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fleet/agent/publisher.h"
#include "fleet/standalone/access/hub_token.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace fleet {

class TokenRenewal final : public Publisher {
 public:
  // The references outlive this. `secret`: as kHubSecret; `cluster`: the name on the hub.
  TokenRenewal(kube::Client& hub, kube::Client& member, kube::Clock& clock, std::string cluster,
               kube::ObjectKey secret)
      : hub_(hub),
        member_(member),
        clock_(clock),
        cluster_(std::move(cluster)),
        secret_(std::move(secret)) {}

  // Publisher
  std::string_view name() const override { return "token"; }
  kube::Async<kube::Duration> Publish() override;

 private:
  // The time until `when`, but an hour at most: a Secret that an administrator replaces is noticed.
  kube::Duration Until(kube::WallTime when) const;

  kube::Client& hub_;
  kube::Client& member_;
  kube::Clock& clock_;
  const std::string cluster_;
  const kube::ObjectKey secret_;
  // Requested, and not yet in the Secret.
  std::optional<HubToken> requested_;
};

}  // namespace fleet

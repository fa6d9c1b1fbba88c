// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/token_renewal.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace fleet {

using kube::Duration;
using kube::Json;
using kube::Result;
using kube::Unstructured;
using kube::WallTime;

Duration TokenRenewal::Until(WallTime when) const {
  WallTime::duration left = when - clock_.WallNow();
  return std::clamp<Duration>(std::chrono::duration_cast<Duration>(left), std::chrono::minutes(1),
                              std::chrono::hours(1));
}

kube::Async<Duration> TokenRenewal::Publish() {
  Result<Unstructured> secret = co_await kube::GetObject(member_, kube::kSecrets, secret_);
  if (!secret) co_return secret.error().Prefix("read Secret " + secret_.ToString());
  const WallTime now = clock_.WallNow();
  std::optional<WallTime> due = RenewAfter(secret->body(), now);
  if (due && *due > now) co_return Until(*due);

  if (!requested_ || requested_->renew_after <= now) {
    Result<HubToken> token = co_await RequestHubToken(hub_, clock_, cluster_);
    if (!token) co_return token.error();
    requested_ = std::move(*token);
  }
  // Does not overwrite the Secret of another join, or of another replica.
  Json patch = TokenPatch(*requested_);
  patch["metadata"]["resourceVersion"] = secret->metadata().resource_version();
  Result<Unstructured> written = co_await kube::PatchObject(member_, kube::kSecrets, secret_,
                                                            kube::kMergePatch, std::move(patch));
  if (!written) co_return written.error().Prefix("write Secret " + secret_.ToString());
  const WallTime next = requested_->renew_after;
  requested_.reset();
  LOG(INFO) << "the token of the hub is renewed; next time after " << kube::FormatTime(next);
  co_return Until(next);
}

}  // namespace fleet

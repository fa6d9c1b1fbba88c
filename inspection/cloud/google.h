// SPDX-License-Identifier: Apache-2.0
// GoogleExchange: an access token of this pod's identity, from the metadata server of its node.
// Source: Google's "Get an access token" (Compute Engine metadata) and "Authenticate to Artifact
// Registry".
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "inspection/cloud/cloud_http.h"
#include "inspection/cloud/cloud_identity.h"
#include "inspection/cloud/token_exchange.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

class GoogleExchange final : public TokenExchange {
 public:
  // `metadata` may connect to the metadata server, and uses no proxy.
  GoogleExchange(std::shared_ptr<CloudHttp> metadata, const CloudIdentity& identity)
      : metadata_(std::move(metadata)), host_(identity.google_metadata) {}

  // TokenExchange
  std::string ScopeOf(const CloudRegistry&) const override { return "Artifact Registry"; }
  kube::Async<ExchangedLogin> Exchange(CloudRegistry registry, kube::TimePoint deadline) override;

 private:
  std::shared_ptr<CloudHttp> metadata_;
  std::string host_;
};

}  // namespace inspection

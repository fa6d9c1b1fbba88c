// SPDX-License-Identifier: Apache-2.0
// AzureExchange: a refresh token of one registry of ACR, by Microsoft Entra Workload ID: the
// federated token of this pod for an access token, and that for the refresh token. The access token
// is for container registries alone, so the registry can do nothing else with it.
// Source: Microsoft identity platform, "client credentials flow, federated credential"; ACR's
// AAD-OAuth.md, "POST /oauth2/exchange".
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

class AzureExchange final : public TokenExchange {
 public:
  AzureExchange(std::shared_ptr<CloudHttp> http, const CloudIdentity& identity)
      : http_(std::move(http)),
        client_(identity.azure_client),
        tenant_(identity.azure_tenant),
        token_file_(identity.azure_token_file),
        authority_(identity.azure_authority) {}

  // TokenExchange
  std::string ScopeOf(const CloudRegistry& registry) const override {
    return "ACR " + registry.host;
  }
  kube::Async<ExchangedLogin> Exchange(CloudRegistry registry, kube::TimePoint deadline) override;

 private:
  kube::Async<std::string> AccessToken(kube::TimePoint deadline);

  std::shared_ptr<CloudHttp> http_;
  std::string client_;
  std::string tenant_;
  std::string token_file_;
  std::string authority_;
};

}  // namespace inspection

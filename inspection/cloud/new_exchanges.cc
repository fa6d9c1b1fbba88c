// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/new_exchanges.h"

#include <memory>

#include "inspection/cloud/amazon.h"
#include "inspection/cloud/azure.h"
#include "inspection/cloud/cloud_http.h"
#include "inspection/cloud/google.h"
#include "kube/http/proxy.h"

namespace inspection {

TokenExchanges NewTokenExchanges(kube::Executor executor, kube::Clock& clock,
                                 const CloudIdentity& identity, const std::string& ca_pem) {
  TransportOptions options;
  options.ca_pem = ca_pem;
  options.proxy = kube::ProxySettings::FromEnvironment();
  auto http = std::make_shared<CloudHttp>(executor, clock, options);
  TransportOptions metadata_options;
  metadata_options.named_hosts = {identity.google_metadata};
  auto metadata = std::make_shared<CloudHttp>(executor, clock, metadata_options);

  TokenExchanges exchanges;
  exchanges[Cloud::kAmazon] = std::make_unique<AmazonExchange>(http, clock, identity);
  exchanges[Cloud::kGoogle] = std::make_unique<GoogleExchange>(metadata, identity);
  exchanges[Cloud::kAzure] = std::make_unique<AzureExchange>(http, identity);
  return exchanges;
}

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
// The exchanges of all clouds, each with the connections that it needs.
#pragma once

#include <string>

#include "inspection/cloud/cloud_identity.h"
#include "inspection/cloud/token_exchange.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

// `ca_pem`: authorities that are trusted in addition to the system's. The metadata server of a node
// has a link-local address, which only Google's exchange may connect to. The proxy is that of the
// environment. Makes no call yet. `clock` outlives the exchanges.
TokenExchanges NewTokenExchanges(kube::Executor executor, kube::Clock& clock,
                                 const CloudIdentity& identity, const std::string& ca_pem);

}  // namespace inspection

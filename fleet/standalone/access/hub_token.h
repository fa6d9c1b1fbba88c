// SPDX-License-Identifier: Apache-2.0
// The token by which an agent reaches its hub: of the ServiceAccount kAgentAccess in the namespace
// of its cluster there. It lives for a week and is kept in a Secret of the member, with the
// kubeconfig that names it. Never logged.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The Secret, in the namespace of the agent, and its keys. The kubeconfig's tokenFile is
// kHubTokenKey, as a Secret is mounted as a folder.
inline constexpr std::string_view kHubSecret = "multiarch-fleet-hub";
inline constexpr std::string_view kHubKubeconfigKey = "kubeconfig";
inline constexpr std::string_view kHubTokenKey = "token";
inline constexpr std::string_view kHubClusterKey = "cluster-name";
// An annotation of the Secret: the time, RFC 3339, after which the token is to be renewed.
inline constexpr std::string_view kRenewAfterAnnotation =
    "fleet.multiarch.openshift.io/renew-token-after";

struct HubToken {
  std::string text;
  // At half of the token's life: an agent that is down for the other half keeps its access.
  kube::WallTime renew_after{};
};

// What the hub answers is untrusted: a token has only the characters of a JWT, and is renewed at
// the earliest after kMinTokenUse, at the latest after kMaxTokenUse.
inline constexpr size_t kMaxTokenBytes = 16 * 1024;
inline constexpr std::chrono::minutes kMinTokenUse{5};
inline constexpr std::chrono::hours kMaxTokenUse{24 * 30};

// The token in the answer to a TokenRequest. Errors: kInvalid, without any text of the answer.
kube::Result<HubToken> ReadHubToken(const kube::Json& answer, kube::WallTime now);

// A new token for the agent of `cluster`. Errors: the hub's; those of ReadHubToken().
kube::Async<HubToken> RequestHubToken(kube::Client& hub, kube::Clock& clock, std::string cluster);

// The part of the Secret that changes with the token: annotation and data, as a merge patch.
kube::Json TokenPatch(const HubToken& token);

// When the token in the Secret is to be renewed; nullopt if the Secret does not say so, or says a
// time that no agent has written.
std::optional<kube::WallTime> RenewAfter(const kube::Json& secret, kube::WallTime now);

}  // namespace fleet

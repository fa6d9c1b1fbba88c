// SPDX-License-Identifier: Apache-2.0
// Timing: every timeout, retry interval, number of attempts and cache lifetime of image inspection.
// To change one, change it here.
#pragma once

#include <chrono>

namespace inspection {

// One inspection: inspector.cc.

// All requests to registries and attempts of one inspection together.
inline constexpr std::chrono::milliseconds kInspectionTimeout{30'000};
// All credentials of one inspection, from plugins and clouds, before that. What is not there by
// then is not used.
inline constexpr std::chrono::milliseconds kCredentialsTimeout{60'000};
// How long the digest of a tag is cached. What a digest means is cached without limit of time.
inline constexpr std::chrono::milliseconds kTagLifetime{60'000};
// How long a failure is cached, so that the pods of a Deployment do not repeat it one by one.
inline constexpr std::chrono::milliseconds kFailureLifetime{1'000};

// How long what a tag named is used while its registry fails.
inline constexpr std::chrono::hours kStaleLifetime{24};
// A registry that failed is asked again after the first time, then once in an interval that doubles
// up to the second: registry/circuit_breaker.h.
inline constexpr std::chrono::milliseconds kFirstProbe{1'000};
inline constexpr std::chrono::milliseconds kProbeInterval{5'000};

// One HTTP call to a registry or token server: registry/fetcher.h, registry/transport.cc.

inline constexpr std::chrono::milliseconds kCallTimeout{15'000};  // one attempt
// One attempt at a range of a blob, which may be 4 MiB.
inline constexpr std::chrono::milliseconds kBlobRangeTimeout{60'000};
inline constexpr int kCallAttempts = 3;  // for 429, 5xx and broken connections
inline constexpr std::chrono::milliseconds kCallBackoff{200};  // doubles with every attempt
inline constexpr std::chrono::seconds kMaxRetryAfter{3'600};
inline constexpr std::chrono::milliseconds kConnectTimeout{5'000};
inline constexpr std::chrono::milliseconds kIdleConnectionTimeout{30'000};

// Bearer tokens of registries: registry/auth.cc.

inline constexpr std::chrono::seconds kMinTokenLifetime{60};
inline constexpr std::chrono::seconds kMaxTokenLifetime{3'600};
// A token is not used in its last seconds: it must arrive before it expires.
inline constexpr std::chrono::seconds kTokenExpiryMargin{10};

// The kubelet's credential provider plugins: config/credential_providers.cc.

inline constexpr std::chrono::milliseconds kPluginTimeout{60'000};  // as the kubelet's
// How long an inspection waits for the plugins that run for others. Then it goes on without.
inline constexpr std::chrono::milliseconds kPluginTurnTimeout{10'000};
// A plugin that failed is not run again for this time.
inline constexpr std::chrono::seconds kPluginFailureLifetime{10};
inline constexpr std::chrono::seconds kMaxPluginCacheDuration{24 * 3'600};

// Credentials of clouds: cloud/cloud_credentials.cc.

// The token server of a cloud that failed is not asked again for this time.
inline constexpr std::chrono::seconds kExchangeFailureLifetime{30};
// A credential is exchanged anew at the latest this long before it expires,
inline constexpr std::chrono::seconds kExchangeExpiryMargin{60};
// but not before this time: however short its lifetime is, and however often a registry refuses it.
inline constexpr std::chrono::seconds kMinExchangeInterval{30};
// One that is issued for less is not used: it must arrive before it expires.
inline constexpr std::chrono::seconds kMinLoginLifetime{20};
// How long an inspection waits for exchanges of others. Then it goes on without a credential.
inline constexpr std::chrono::milliseconds kExchangeTurnTimeout{10'000};
// The longest lifetime of a credential, that of ECR's passwords.
inline constexpr std::chrono::seconds kMaxLoginLifetime{12 * 3'600};

}  // namespace inspection

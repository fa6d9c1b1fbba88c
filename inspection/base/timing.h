// SPDX-License-Identifier: Apache-2.0
// Timing: every timeout, retry interval, number of attempts and cache lifetime of image inspection,
// of the inspector and of the cluster controller. To change one, change it here.
//
// What a user can change is in the API: spec.inspectionRetryPeriod of the
// ClusterPodPlacementConfig.
#pragma once

#include <array>
#include <chrono>

namespace inspection {

// The attempts for one pod: cluster-controller/pod_reconciler.cc.

// After this many failed attempts a pod is released without the result (I3).
inline constexpr int kMaxAttempts = 5;
// The backoff after each failed attempt, as parts of spec.inspectionRetryPeriod: short at first,
// for a registry that fails once, and long enough at the end to outlast a short outage.
inline constexpr std::array<int, kMaxAttempts - 1> kBackoffParts = {2, 6, 18, 36};
// The longest backoff for a pod that failed under another leader, as the time of that attempt is
// unknown. It is short, or no attempt would be made if every term were shorter than the backoff.
inline constexpr std::chrono::milliseconds kMaxNewLeaderBackoff{5'000};
// A pod that waits for results is reconciled after this time even if no result wakes it (I3).
inline constexpr std::chrono::milliseconds kResultOverdue{120'000};
// Pods that ask for a result this long after it came get it without another inspection
// (cluster-controller/inspection_queue.h).
inline constexpr std::chrono::milliseconds kSharedResultLifetime{1'000};

// One inspection: inspector.cc.

// All requests and attempts of one inspection together.
inline constexpr std::chrono::milliseconds kInspectionTimeout{30'000};
// How long the digest of a tag is cached. What a digest means is cached without limit of time.
inline constexpr std::chrono::milliseconds kTagLifetime{60'000};
// How long a failure is cached, so that the pods of a Deployment do not repeat it one by one.
inline constexpr std::chrono::milliseconds kFailureLifetime{1'000};

// One HTTP call to a registry or token server: registry/fetcher.h, registry/transport.cc.

inline constexpr std::chrono::milliseconds kCallTimeout{15'000};  // one attempt
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
// A plugin that failed is not run again for this time.
inline constexpr std::chrono::seconds kPluginFailureLifetime{10};
inline constexpr std::chrono::seconds kMaxPluginCacheDuration{24 * 3'600};

// Configuration that is polled: cluster-controller/leader.cc.

inline constexpr std::chrono::seconds kNodeFilesInterval{10};
inline constexpr std::chrono::seconds kOpenShiftInterval{60};

}  // namespace inspection

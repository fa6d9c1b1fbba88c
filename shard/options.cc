// SPDX-License-Identifier: Apache-2.0
#include "shard/options.h"

#include <gflags/gflags.h>

#include <chrono>
#include <optional>

#include "api/names.h"
#include "kube/types/meta.pb.h"

DEFINE_string(namespace, "", "The namespace to serve; also the namespace of the Lease. Required.");
DEFINE_string(
    lease_owner, "",
    "The operator's namespace as NAME/UID; the Lease is deleted with it. Empty: no owner.");
DEFINE_bool(leader_elect, true, "Take pods at once only while holding the Lease.");

namespace shard {
namespace {

using kube::Error;
using kube::Result;

// A cluster may have a thousand shards: at rest, their Leases cost the API server 25 writes per
// second. The controllers that look at a Lease do so only when a pod waits, and then the shard
// renews it every two seconds. A replica that waits for this Lease takes pods without it after 20
// s.
constexpr std::chrono::seconds kLeaseDuration{60};
constexpr std::chrono::seconds kRenewDeadline{50};
constexpr std::chrono::seconds kRenewEvery{40};

bool IsNamespace(const std::string& name) {
  constexpr size_t kMaxLength = 63;
  return !name.empty() && name.size() <= kMaxLength &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

Result<std::optional<kube::meta::OwnerReference>> LeaseOwner() {
  std::optional<kube::meta::OwnerReference> owner;
  if (FLAGS_lease_owner.empty()) return owner;
  size_t slash = FLAGS_lease_owner.find('/');
  if (slash == std::string::npos) return Error::Invalid("--lease-owner must be NAME/UID");
  owner.emplace();
  owner->set_api_version("v1");
  owner->set_kind("Namespace");
  owner->set_name(FLAGS_lease_owner.substr(0, slash));
  owner->set_uid(FLAGS_lease_owner.substr(slash + 1));
  return owner;
}

}  // namespace

Result<Options> OptionsFromFlags() {
  if (!IsNamespace(FLAGS_namespace))
    return Error::Invalid("--namespace must name the namespace to serve");
  auto owner = LeaseOwner();
  if (!owner) return owner.error();
  return Options{.ns = FLAGS_namespace,
                 .leader_elect = FLAGS_leader_elect,
                 .lease = {.ns = FLAGS_namespace,
                           .name = std::string(api::kShardControllerName),
                           .duration = kLeaseDuration,
                           .renew_deadline = kRenewDeadline,
                           .renew_every = kRenewEvery,
                           .owner = std::move(*owner)}};
}

}  // namespace shard

// SPDX-License-Identifier: Apache-2.0
#include "shard/options.h"

#include <gflags/gflags.h>

#include <optional>

#include "kube/types/meta.pb.h"
#include "shard/lease.h"

DEFINE_string(namespace, "", "The namespace to serve; also the namespace of the Lease. Required.");
DEFINE_string(
    lease_owner, "",
    "The operator's namespace as NAME/UID; the Lease is deleted with it. Empty: no owner.");
DEFINE_bool(leader_elect, true, "Take pods at once only while holding the Lease.");

namespace shard {
namespace {

using kube::Error;
using kube::Result;

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
  Options options{
      .ns = FLAGS_namespace, .leader_elect = FLAGS_leader_elect, .lease = LeaseOf(FLAGS_namespace)};
  options.lease.owner = std::move(*owner);
  return options;
}

}  // namespace shard

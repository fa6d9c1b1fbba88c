// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/shard_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/names.h"
#include "kube/codec/codec.h"
#include "kube/types/kinds.h"

namespace cluster_controller {
namespace {

using kube::Result;
using kube::TimePoint;
using kube::apps::Deployment;
using kube::coordination::Lease;
using namespace std::chrono_literals;

// Time for the informers of a new term to sync.
constexpr kube::Duration kSyncTime = 3s;
// A new term forgets shards that have not worked for this time.
constexpr kube::Duration kForgottenAfter = 1h;

const std::string& ShardObjects() {
  static const auto& selector =
      *new std::string("metadata.name=" + std::string(api::kShardControllerName));
  return selector;
}

// There may be a thousand of each object: keeps only the fields that are used here.
template <class T>
Result<T> ParseTrimmed(std::string_view message) {
  T object;
  Result<void> parsed = kube::ParseMessage(message, object);
  if (!parsed) return parsed.error();
  std::string ns = object.metadata().namespace_();
  object.mutable_metadata()->Clear();
  object.mutable_metadata()->set_namespace_(std::move(ns));
  object.mutable_unknown_fields()->clear();
  return object;
}

Result<std::optional<std::string>> PackLease(std::string_view message) {
  Result<Lease> lease = ParseTrimmed<Lease>(message);
  if (!lease) return lease.error();
  return std::optional<std::string>(lease->SerializeAsString());
}

Result<std::optional<std::string>> PackDeployment(std::string_view message) {
  Result<Deployment> deployment = ParseTrimmed<Deployment>(message);
  if (!deployment) return deployment.error();
  deployment->mutable_status()->mutable_unknown_fields()->clear();
  return std::optional<std::string>(deployment->SerializeAsString());
}

}  // namespace

kube::InformerOptions<Lease> ShardLeases() {
  return {.field_selector = ShardObjects(), .pack = PackLease};
}

kube::InformerOptions<Deployment> ShardDeployments() {
  return {.field_selector = ShardObjects(), .pack = PackDeployment, .resource = kube::kDeployments};
}

void ShardWatch::BeginTerm() {
  term_began_ = clock_.Now();
  // Informers do not report objects that were deleted between the terms.
  for (auto& [ns, shard] : shards_) {
    if (std::exchange(shard.available, false)) shard.last_available = term_began_;
  }
  std::erase_if(shards_, [&](const auto& entry) {
    return std::max(entry.second.renewed, entry.second.last_available) <
           term_began_ - kForgottenAfter;
  });
}

void ShardWatch::OnLease(kube::EventType type, const Lease& lease) {
  const std::string& ns = lease.metadata().namespace_();
  if (type == kube::EventType::kDeleted) {
    auto shard = shards_.find(ns);
    if (shard == shards_.end()) return;
    shard->second.renewed = TimePoint::min();
    if (!shard->second.available) shards_.erase(shard);
    return;
  }
  // A released Lease has no holder.
  if (lease.spec().holder_identity().empty()) return;
  size_t renewal = std::hash<std::string>()(
      lease.spec().holder_identity() + "@" + std::to_string(lease.spec().renew_time().seconds()) +
      "." + std::to_string(lease.spec().renew_time().nanos()));
  Shard& shard = shards_[ns];
  if (shard.renewal == renewal) return;
  shard.renewal = renewal;
  shard.renewed = clock_.Now();
}

void ShardWatch::OnDeployment(kube::EventType type, const Deployment& deployment) {
  const std::string& ns = deployment.metadata().namespace_();
  bool available =
      type != kube::EventType::kDeleted && deployment.status().available_replicas() > 0;
  auto known = shards_.find(ns);
  if (known == shards_.end()) {
    if (available) shards_[ns].available = true;
    return;
  }
  Shard& shard = known->second;
  if (std::exchange(shard.available, available) && !available) shard.last_available = clock_.Now();
  if (type == kube::EventType::kDeleted && shard.renewed == TimePoint::min()) shards_.erase(known);
}

kube::Duration ShardWatch::WaitLeft(const std::string& ns, TimePoint first_seen,
                                    std::chrono::milliseconds takeover_after) const {
  TimePoint now = clock_.Now();
  TimePoint worked = TimePoint::min();
  if (auto shard = shards_.find(ns); shard != shards_.end()) {
    worked = std::min(shard->second.renewed,
                      shard->second.available ? now : shard->second.last_available);
  }
  TimePoint taken_over = std::min(std::max(worked, first_seen) + takeover_after,
                                  first_seen + kMaxWaitFactor * takeover_after);
  if (term_began_ != TimePoint::min()) taken_over = std::max(taken_over, term_began_ + kSyncTime);
  return std::max(taken_over - now, kube::Duration::zero());
}

}  // namespace cluster_controller

// SPDX-License-Identifier: Apache-2.0
#include "watches/fresh_configs.h"

#include <algorithm>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/coordination.pb.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::Async;
using kube::Result;
using kube::coordination::Lease;
using namespace std::chrono_literals;

// An announced write that the watch does not have by then was refused: the API server limits
// requests to a minute.
constexpr kube::Duration kExpiresAfter = 60s;
// With more namespaces, idle ones are dropped.
constexpr size_t kMaxIdleNamespaces = 256;

}  // namespace

FreshConfigs::FreshConfigs(kube::Client& client, kube::Clock& clock, FreshConfigsOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      watch_(client, clock, {.ns = options_.ns}) {
  watch_.OnEvent(
      [this](kube::EventType type, const PodPlacementConfig& config) { OnEvent(type, config); });
}

Async<FreshConfigs::Snapshot> FreshConfigs::Read(std::string ns, std::vector<std::string> names) {
  Result<> synced = co_await watch_.WaitForSync();
  if (!synced) co_return synced.error();
  Result<Announced> announced = co_await Announcements(ns);
  if (!announced)
    co_return announced.error().Prefix("read the announcements of PodPlacementConfigs");
  if (!IsBehind(ns, names, **announced)) co_return WatchedIn(ns);

  kube::SharedCall<Snapshot> list = ReadsOf(ns).list;
  Result<Snapshot> listed = co_await list.Call();
  co_return listed;
}

void FreshConfigs::OnEvent(kube::EventType type, const PodPlacementConfig& config) {
  const std::string& ns = config.metadata().namespace_();
  Watched& watched = watched_[ns];
  watched.snapshot = nullptr;
  if (type != kube::EventType::kDeleted) {
    watched.configs.insert_or_assign(config.metadata().name(), config);
    return;
  }
  watched.configs.erase(config.metadata().name());
  if (watched.configs.empty()) watched_.erase(ns);
}

FreshConfigs::Snapshot FreshConfigs::WatchedIn(const std::string& ns) {
  static const Snapshot kNone = std::make_shared<const std::vector<PodPlacementConfig>>();
  auto found = watched_.find(ns);
  if (found == watched_.end()) return kNone;
  Watched& watched = found->second;
  if (watched.snapshot == nullptr) {
    std::vector<PodPlacementConfig> all;
    for (const auto& [name, config] : watched.configs) all.push_back(config);
    watched.snapshot = std::make_shared<const std::vector<PodPlacementConfig>>(std::move(all));
  }
  return watched.snapshot;
}

bool FreshConfigs::IsBehind(const std::string& ns, const std::vector<std::string>& names,
                            const std::vector<Announcement>& announced) {
  auto watched = watched_.find(ns);
  auto find = [&](const std::string& name) -> const PodPlacementConfig* {
    if (watched == watched_.end()) return nullptr;
    auto config = watched->second.configs.find(name);
    return config == watched->second.configs.end() ? nullptr : &config->second;
  };

  // Keeps only what is announced now: a tenant that writes announcements cannot fill the memory.
  Reads& reads = ReadsOf(ns);
  std::unordered_map<std::string, Pending> pending;
  bool behind = false;
  for (const Announcement& announcement : announced) {
    const PodPlacementConfig* config = find(announcement.name);
    if (config != nullptr && config->metadata().uid() == announcement.uid &&
        config->metadata().generation() >= announcement.generation) {
      continue;
    }
    Pending entry{.generation = announcement.generation, .since = clock_.Now()};
    auto known = reads.pending.find(announcement.uid);
    if (known != reads.pending.end() && known->second.generation == entry.generation)
      entry = known->second;
    behind |= clock_.Now() - entry.since < kExpiresAfter;
    pending.emplace(announcement.uid, entry);
  }
  reads.pending = std::move(pending);
  return behind || std::any_of(names.begin(), names.end(),
                               [&](const std::string& name) { return find(name) == nullptr; });
}

Async<FreshConfigs::Announced> FreshConfigs::Announcements(std::string ns) {
  const Reads& reads = ReadsOf(ns);
  if (reads.last != nullptr && clock_.Now() - reads.last_begun < kAnnouncementsReused)
    co_return reads.last;
  kube::SharedCall<Announced> read = reads.announced;
  Result<Announced> announced = co_await read.Call();
  co_return announced;
}

Async<FreshConfigs::Announced> FreshConfigs::ReadAnnouncements(std::string ns) {
  static const Announced kNothing = std::make_shared<const std::vector<Announcement>>();
  kube::TimePoint begun = clock_.Now();
  kube::ObjectKey key{ns, std::string(api::kAnnouncementsName)};
  Result<Lease> lease = co_await kube::Get<Lease>(client_, std::move(key));
  if (!lease && !IsNotFound(lease)) co_return lease.error();
  Announced announced = kNothing;
  if (lease)
    announced =
        std::make_shared<const std::vector<Announcement>>(AnnouncementsOn(lease->metadata()));
  Reads& reads = ReadsOf(ns);
  reads.last = announced;
  reads.last_begun = begun;
  co_return announced;
}

Async<FreshConfigs::Snapshot> FreshConfigs::List(std::string ns) {
  kube::ListOptions options{.ns = ns};
  auto listed = co_await kube::List<PodPlacementConfig>(client_, std::move(options));
  if (!listed) co_return listed.error().Prefix("list the PodPlacementConfigs of " + ns);
  co_return std::make_shared<const std::vector<PodPlacementConfig>>(std::move(listed->items));
}

FreshConfigs::Reads& FreshConfigs::ReadsOf(const std::string& ns) {
  kube::TimePoint now = clock_.Now();
  if (reads_.size() >= kMaxIdleNamespaces && !reads_.contains(ns)) {
    std::erase_if(reads_, [&](const auto& entry) {
      const Reads& reads = entry.second;
      bool idle = reads.announced.idle() && reads.list.idle();
      return idle && (reads.pending.empty() || now - reads.last_used >= kExpiresAfter);
    });
  }
  auto found = reads_.find(ns);
  if (found == reads_.end()) {
    Reads fresh{
        .announced = kube::SharedCall<Announced>([this, ns] { return ReadAnnouncements(ns); }),
        .last = nullptr,
        .last_begun = {},
        .list = kube::SharedCall<Snapshot>([this, ns] { return List(ns); }),
        .pending = {},
        .last_used = now};
    found = reads_.emplace(ns, std::move(fresh)).first;
  }
  found->second.last_used = now;
  return found->second;
}

}  // namespace watches

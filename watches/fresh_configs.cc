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

// An announced write is stored by then, or never: the API server limits requests to a minute.
constexpr kube::Duration kEndsWithin = 60s;
// With more namespaces, idle ones are dropped.
constexpr size_t kMaxIdleNamespaces = 256;
// Nothing waits for an answer but pods, so that also a long list ends.
constexpr kube::Duration kListWithin = 30s;

}  // namespace

FreshConfigs::FreshConfigs(kube::Client& client, kube::Clock& clock, std::string ns)
    : client_(client), clock_(clock), watch_(client, clock, std::move(ns)), lists_(client, clock) {}

Async<FreshConfigs::Snapshot> FreshConfigs::Read(std::string ns, std::vector<std::string> names) {
  Result<> synced = co_await watch_.WaitForSync();
  if (!synced) co_return synced.error();
  Result<Announced> announced = co_await Announcements(ns);
  if (!announced)
    co_return announced.error().Prefix("read the announcements of PodPlacementConfigs");
  if (!IsBehind(ns, names, **announced)) co_return watch_.In(ns);

  kube::TimePoint begun = clock_.Now();
  // The watch may have all of them when it is this namespace's turn to be listed.
  ConfigLists::Known known = [this, ns, names = std::move(names), pending = *announced] {
    return Has(ns, names, *pending) ? watch_.In(ns) : nullptr;
  };
  Result<Snapshot> listed = co_await lists_.Read(ns, clock_.Now() + kListWithin, std::move(known));
  if (listed) KeepStored(ns, **listed, begun);
  co_return listed;
}

bool FreshConfigs::Has(const std::string& ns, const Announcement& announcement,
                       int64_t generation) const {
  const ConfigCache::Version* known = watch_.Find(ns, announcement.name);
  return known != nullptr && known->uid == announcement.uid && known->generation >= generation;
}

bool FreshConfigs::Has(const std::string& ns, const std::vector<std::string>& names,
                       const std::vector<Announcement>& announced) const {
  auto is_known = [&](const std::string& name) { return watch_.Find(ns, name) != nullptr; };
  auto has = [&](const Announcement& announcement) {
    return Has(ns, announcement, announcement.generation);
  };
  return std::all_of(names.begin(), names.end(), is_known) &&
         std::all_of(announced.begin(), announced.end(), has);
}

bool FreshConfigs::IsBehind(const std::string& ns, const std::vector<std::string>& names,
                            const std::vector<Announcement>& announced) {
  // Keeps only what is announced now: a tenant that writes announcements cannot fill the memory.
  Reads& reads = ReadsOf(ns);
  std::unordered_map<std::string, Pending> pending;
  bool behind = false;
  for (const Announcement& announcement : announced) {
    if (Has(ns, announcement, announcement.generation)) continue;
    Pending entry{.announcement = announcement, .since = clock_.Now(), .stored = {}};
    // The same generation may be announced again, when the first write was refused.
    auto before = reads.pending.find(announcement.uid);
    if (before != reads.pending.end() && before->second.announcement == announcement)
      entry = before->second;
    behind |= !entry.stored || (*entry.stored > 0 && !Has(ns, announcement, *entry.stored));
    pending.emplace(announcement.uid, std::move(entry));
  }
  reads.pending = std::move(pending);
  return behind || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return watch_.Find(ns, name) == nullptr;
         });
}

void FreshConfigs::KeepStored(const std::string& ns, const std::vector<PodPlacementConfig>& listed,
                              kube::TimePoint begun) {
  auto reads = reads_.find(ns);
  if (reads == reads_.end()) return;
  std::unordered_map<std::string, Pending>& pending = reads->second.pending;
  auto has_ended = [&](const Pending& entry) { return begun - entry.since >= kEndsWithin; };
  for (auto& [uid, entry] : pending) {
    if (has_ended(entry)) entry.stored = 0;
  }
  for (const PodPlacementConfig& config : listed) {
    auto found = pending.find(config.metadata().uid());
    if (found != pending.end() && has_ended(found->second))
      found->second.stored = config.metadata().generation();
  }
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

FreshConfigs::Reads& FreshConfigs::ReadsOf(const std::string& ns) {
  kube::TimePoint now = clock_.Now();
  if (reads_.size() >= kMaxIdleNamespaces && !reads_.contains(ns)) {
    std::erase_if(reads_, [&](const auto& entry) {
      const Reads& reads = entry.second;
      return reads.announced.idle() &&
             (reads.pending.empty() || now - reads.last_used >= kEndsWithin);
    });
  }
  auto found = reads_.find(ns);
  if (found == reads_.end()) {
    Reads fresh{
        .announced = kube::SharedCall<Announced>([this, ns] { return ReadAnnouncements(ns); }),
        .last = nullptr,
        .last_begun = {},
        .pending = {},
        .last_used = now};
    found = reads_.emplace(ns, std::move(fresh)).first;
  }
  found->second.last_used = now;
  return found->second;
}

}  // namespace watches

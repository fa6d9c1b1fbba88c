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

// A write that has not come by then was refused after it was announced: the API server ends
// requests after a minute.
constexpr kube::Duration kGivenUpAfter = 60s;
// Above these the idle ones are forgotten.
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
  kube::SharedCall<Announced> read = AskedFor(ns).announced;
  Result<Announced> announced = co_await read.Call();
  if (!announced)
    co_return announced.error().Prefix("read which PodPlacementConfigs are being written");
  if (!IsBehind(ns, names, **announced)) co_return WatchedIn(ns);

  kube::SharedCall<Snapshot> list = AskedFor(ns).list;
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

  // Only what is announced now stays in mind, so that nobody who writes announcements can fill the
  // memory.
  Asked& asked = AskedFor(ns);
  std::unordered_map<std::string, Pending> pending;
  bool behind = false;
  for (const Announcement& announcement : announced) {
    const PodPlacementConfig* config = find(announcement.name);
    if (config != nullptr && config->metadata().uid() == announcement.uid &&
        config->metadata().generation() >= announcement.generation) {
      continue;
    }
    Pending entry{.generation = announcement.generation, .since = clock_.Now()};
    auto known = asked.pending.find(announcement.uid);
    if (known != asked.pending.end() && known->second.generation == entry.generation)
      entry = known->second;
    behind |= clock_.Now() - entry.since < kGivenUpAfter;
    pending.emplace(announcement.uid, entry);
  }
  asked.pending = std::move(pending);
  return behind || std::any_of(names.begin(), names.end(),
                               [&](const std::string& name) { return find(name) == nullptr; });
}

Async<FreshConfigs::Announced> FreshConfigs::ReadAnnouncements(std::string ns) {
  static const Announced kNothing = std::make_shared<const std::vector<Announcement>>();
  kube::ObjectKey key{std::move(ns), std::string(api::kAnnouncementsName)};
  Result<Lease> lease = co_await kube::Get<Lease>(client_, std::move(key));
  if (IsNotFound(lease)) co_return kNothing;
  if (!lease) co_return lease.error();
  co_return std::make_shared<const std::vector<Announcement>>(AnnouncementsOn(lease->metadata()));
}

Async<FreshConfigs::Snapshot> FreshConfigs::List(std::string ns) {
  kube::ListOptions options{.ns = ns};
  auto listed = co_await kube::List<PodPlacementConfig>(client_, std::move(options));
  if (!listed) co_return listed.error().Prefix("list the PodPlacementConfigs of " + ns);
  co_return std::make_shared<const std::vector<PodPlacementConfig>>(std::move(listed->items));
}

FreshConfigs::Asked& FreshConfigs::AskedFor(const std::string& ns) {
  kube::TimePoint now = clock_.Now();
  if (asked_.size() >= kMaxIdleNamespaces && !asked_.contains(ns)) {
    std::erase_if(asked_, [&](const auto& entry) {
      const Asked& asked = entry.second;
      bool idle = asked.announced.idle() && asked.list.idle();
      return idle && (asked.pending.empty() || now - asked.last_asked >= kGivenUpAfter);
    });
  }
  auto found = asked_.find(ns);
  if (found == asked_.end()) {
    Asked fresh{
        .announced = kube::SharedCall<Announced>([this, ns] { return ReadAnnouncements(ns); }),
        .list = kube::SharedCall<Snapshot>([this, ns] { return List(ns); }),
        .pending = {},
        .last_asked = now};
    found = asked_.emplace(ns, std::move(fresh)).first;
  }
  found->second.last_asked = now;
  return found->second;
}

}  // namespace watches

// SPDX-License-Identifier: Apache-2.0
#include "configs/fresh_configs.h"

#include <algorithm>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/coordination.pb.h"

namespace configs {
namespace {

using api::PodPlacementConfig;
using kube::Async;
using kube::Result;
using kube::coordination::Lease;
using namespace std::chrono_literals;

// A write that has not come by then was refused after it was announced: the API server ends requests after a minute.
constexpr kube::Duration kGivenUpAfter = 60s;
// Above these the idle ones are forgotten.
constexpr size_t kMaxIdleLists = 64;
constexpr size_t kMaxPending = 4096;

}  // namespace

FreshConfigs::FreshConfigs(kube::Client& client, kube::Clock& clock, FreshConfigsOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      watch_(client, clock, {.ns = options_.ns}),
      announcements_([this] { return ReadAnnouncements(); }) {
  watch_.OnEvent([this](kube::EventType type, const PodPlacementConfig& config) { OnEvent(type, config); });
}

Async<FreshConfigs::Snapshot> FreshConfigs::Read(std::string ns, std::vector<std::string> names) {
  Result<> synced = co_await watch_.WaitForSync();
  if (!synced) co_return synced.error();
  Result<Announced> announced = co_await announcements_.Call();
  if (!announced) co_return announced.error().Prefix("read what PodPlacementConfigs are being written");
  if (!IsBehind(ns, names, **announced)) co_return Watched(ns);

  Result<Snapshot> listed = co_await ListOf(ns).Call();
  co_return listed;
}

void FreshConfigs::OnEvent(kube::EventType type, const PodPlacementConfig& config) {
  const std::string& ns = config.metadata().namespace_();
  Namespace& known = namespaces_[ns];
  known.snapshot = nullptr;
  if (type != kube::EventType::kDeleted) {
    known.watched.insert_or_assign(config.metadata().name(), config);
    return;
  }
  known.watched.erase(config.metadata().name());
  if (known.watched.empty()) namespaces_.erase(ns);
}

FreshConfigs::Snapshot FreshConfigs::Watched(const std::string& ns) {
  static const Snapshot kNone = std::make_shared<const std::vector<PodPlacementConfig>>();
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return kNone;
  Namespace& known = found->second;
  if (known.snapshot == nullptr) {
    std::vector<PodPlacementConfig> all;
    for (const auto& [name, config] : known.watched) all.push_back(config);
    known.snapshot = std::make_shared<const std::vector<PodPlacementConfig>>(std::move(all));
  }
  return known.snapshot;
}

bool FreshConfigs::IsBehind(const std::string& ns, const std::vector<std::string>& names,
                            const Announcements& announced) {
  bool behind = false;
  for (const auto& [name, announcement] : announced.Of(ns)) behind |= IsPending(ns, name, announcement);
  if (behind) return true;
  auto known = namespaces_.find(ns);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return known == namespaces_.end() || !known->second.watched.contains(name);
  });
}

bool FreshConfigs::IsPending(const std::string& ns, const std::string& name, const Announcement& announcement) {
  std::string id = ns + "/" + name + "/" + announcement.uid + "/" + std::to_string(announcement.generation);
  if (auto known = namespaces_.find(ns); known != namespaces_.end()) {
    auto config = known->second.watched.find(name);
    if (config != known->second.watched.end() && config->second.metadata().uid() == announcement.uid &&
        config->second.metadata().generation() >= announcement.generation) {
      pending_since_.erase(id);
      return false;
    }
  }
  kube::TimePoint now = clock_.Now();
  if (pending_since_.size() >= kMaxPending) {
    std::erase_if(pending_since_, [&](const auto& pending) { return now - pending.second >= 2 * kGivenUpAfter; });
  }
  return now - pending_since_.try_emplace(std::move(id), now).first->second < kGivenUpAfter;
}

Async<FreshConfigs::Announced> FreshConfigs::ReadAnnouncements() {
  Result<Lease> lease = co_await kube::Get<Lease>(client_, options_.lease);
  if (!lease && !IsNotFound(lease)) co_return lease.error();
  std::string_view text;
  if (lease) {
    const auto& annotations = lease->metadata().annotations();
    if (auto found = annotations.find(std::string(api::kAnnouncedConfigsAnnotation)); found != annotations.end()) {
      text = found->second;
    }
  }
  co_return std::make_shared<const Announcements>(Announcements::Parse(text));
}

Async<FreshConfigs::Snapshot> FreshConfigs::List(std::string ns) {
  kube::ListOptions options{.ns = ns};
  auto listed = co_await kube::List<PodPlacementConfig>(client_, std::move(options));
  if (!listed) co_return listed.error().Prefix("list the PodPlacementConfigs of " + ns);
  co_return std::make_shared<const std::vector<PodPlacementConfig>>(std::move(listed->items));
}

kube::SharedCall<FreshConfigs::Snapshot>& FreshConfigs::ListOf(const std::string& ns) {
  if (lists_.size() >= kMaxIdleLists) std::erase_if(lists_, [](auto& list) { return list.second.idle(); });
  return lists_.try_emplace(ns, [this, ns] { return List(ns); }).first->second;
}

}  // namespace configs

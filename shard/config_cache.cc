// SPDX-License-Identifier: Apache-2.0
#include "shard/config_cache.h"

#include "kube/client/typed.h"

namespace shard {

using namespace std::chrono_literals;
using api::PodPlacementConfig;
using kube::Async;
using kube::Ok;
using kube::Result;

namespace {

// How long an answer counts. The watch brings a config within milliseconds; one that it never brings was deleted
// before, and must not stay in force.
constexpr kube::Duration kFound = 10s;
constexpr kube::Duration kAbsent = 1s;
// Pods name what they like.
constexpr size_t kMaxLearned = 512;

}  // namespace

ConfigCache::ConfigCache(kube::Client& client, kube::Clock& clock, std::string ns)
    : client_(client), clock_(clock), ns_(std::move(ns)) {}

void ConfigCache::OnEvent(kube::EventType type, const PodPlacementConfig& config) {
  const std::string& name = config.metadata().name();
  learned_.erase(name);
  if (type == kube::EventType::kDeleted) {
    watched_.erase(name);
  } else {
    watched_.insert_or_assign(name, config);
  }
}

bool ConfigCache::Knows(const std::string& name) const {
  if (watched_.contains(name)) return true;
  auto found = learned_.find(name);
  if (found == learned_.end()) return false;
  return clock_.Now() - found->second.at < (found->second.config ? kFound : kAbsent);
}

void ConfigCache::Remember(const std::string& name, std::optional<PodPlacementConfig> config) {
  // The watch was faster: what it says is newer.
  if (watched_.contains(name)) return;
  if (learned_.size() >= kMaxLearned) learned_.clear();
  learned_.insert_or_assign(name, Learned{clock_.Now(), std::move(config)});
}

Async<> ConfigCache::Learn(std::vector<std::string> names) {
  std::erase_if(names, [&](const std::string& name) { return Knows(name); });
  if (names.empty()) co_return Ok();

  if (names.size() == 1) {
    kube::ObjectKey key{ns_, names[0]};
    Result<PodPlacementConfig> config = co_await kube::Get<PodPlacementConfig>(client_, key);
    if (!config && !kube::IsNotFound(config)) co_return config.error().Prefix("read PodPlacementConfig " + names[0]);
    if (config) {
      Remember(names[0], std::move(*config));
    } else {
      Remember(names[0], std::nullopt);
    }
    co_return Ok();
  }

  // Several: one list is less than a call for each.
  kube::ListOptions options{.ns = ns_};
  auto list = co_await kube::List<PodPlacementConfig>(client_, options);
  if (!list) co_return list.error().Prefix("list PodPlacementConfigs");
  for (const std::string& name : names) Remember(name, std::nullopt);
  for (PodPlacementConfig& config : list->items) {
    std::string name = config.metadata().name();
    Remember(name, std::move(config));
  }
  co_return Ok();
}

placement::Configs ConfigCache::All() const {
  placement::Configs all;
  all.reserve(watched_.size());
  for (const auto& [name, config] : watched_) all.push_back(&config);
  for (const auto& [name, learned] : learned_) {
    if (learned.config && clock_.Now() - learned.at < kFound) all.push_back(&*learned.config);
  }
  return all;
}

}  // namespace shard

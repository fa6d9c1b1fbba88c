// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/fact_collector.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fleet/api/managed_cluster.h"
#include "kube/base/backoff.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"

namespace fleet {
namespace {

using image_facts::ImageFacts;
using kube::Async;
using kube::ObjectKey;
using kube::Result;

// Those of 5,000 members, with those of the hub's own cluster.
constexpr size_t kMaxObjects = 25'000;
// Events about one object of a member.
constexpr size_t kMaxEvents = 4;

}  // namespace

FactCollector::FactCollector(kube::Client& client, kube::Clock& clock, kube::EventRecorder& events,
                             FactCollectorOptions options)
    : client_(client),
      clock_(clock),
      events_(events),
      options_(std::move(options)),
      metadata_(client),
      versions_(metadata_, clock,
                {.max_objects = kMaxObjects, .resource = kube::ResourceOf<ImageFacts>::value}),
      shared_(client, options_.hub_namespace) {
  facts_.book().Reset(std::string(kFleetConfiguration), clock_.Now());
}

void FactCollector::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-imagefacts", versions_.Run());
  tasks.Spawn("image-facts", Run());
}

boost::asio::awaitable<void> FactCollector::Run() {
  co_await kube::IgnoreCancellation();
  kube::Backoff backoff({.base = std::chrono::seconds(1)});
  Result<> synced = co_await versions_.WaitForSync();
  if (!synced) co_return;
  while (true) {
    Result<> done = co_await Pass();
    if (FailedWith(done, kube::Code::kCancelled)) co_return;
    kube::Duration pause = kEvery;
    if (done) {
      backoff.Reset();
    } else {
      pause = backoff.Next();
      LOG_IF(WARNING, backoff.failures() == 1)
          << "image facts: " << kube::OneLine(done.error().ToString());
    }
    Result<> slept = co_await clock_.Sleep(pause);
    if (!slept) co_return;
  }
}

FactCollector::Versions FactCollector::Published() const {
  Versions published;
  versions_.ForEach([&](const image_facts::StoredVersion& object) {
    const image_facts::StoredVersion::Metadata& metadata = object.metadata();
    if (!IsPublishedName(metadata.name())) return;
    if (metadata.namespace_() == options_.hub_namespace) return;
    if (options_.is_trusted(metadata.namespace_()))
      published[{metadata.namespace_(), metadata.name()}] = metadata.resource_version();
  });
  return published;
}

void FactCollector::ForgetAllBut(const Versions& published) {
  std::set<std::string> stay, gone;
  for (const auto& [key, version] : published) stay.insert(key.ns);
  std::erase_if(read_, [&](const auto& read) {
    if (published.contains(read.first)) return false;
    if (!stay.contains(read.first.ns)) gone.insert(read.first.ns);
    return true;
  });
  for (const std::string& cluster : gone) facts_.Remove(cluster, clock_.Now());
}

Async<> FactCollector::Pass() {
  const Versions published = Published();
  ForgetAllBut(published);
  for (const auto& [key, version] : published) {
    if (auto read = read_.find(key); read != read_.end() && read->second == version) continue;
    Result<ImageFacts> object = co_await kube::Get<ImageFacts>(client_, key);
    if (IsNotFound(object)) continue;
    if (FailedWith(object, kube::Code::kInvalid)) {
      // It is too large: that must not keep the facts of others from being shared.
      LOG(WARNING) << "image facts of " << key.ns << ": "
                   << kube::OneLine(object.error().ToString());
      read_[key] = version;
      continue;
    }
    if (!object) co_return object.error().Prefix("read those of " + key.ns);
    const auto wall = image_facts::SecondsNow(clock_);
    Report(facts_.Add(key.ns, *object, clock_.Now(), wall));
    read_[key] = version;
  }
  Result<> written = co_await Write();
  if (written) written = co_await WriteHead();
  co_return written;
}

void FactCollector::Report(const std::vector<SharedFacts::Dispute>& disputes) {
  for (size_t i = 0; i < std::min(disputes.size(), kMaxEvents); ++i) {
    const SharedFacts::Dispute& dispute = disputes[i];
    kube::core::ObjectReference cluster;
    cluster.set_api_version(kManagedClusters.ApiVersion());
    cluster.set_kind(std::string(kManagedClusters.kind));
    cluster.set_name(dispute.cluster);
    events_.Record(cluster, /*warning=*/true, kImageFactsDisputed,
                   "it says that " + dispute.digest + ", as " + dispute.image +
                       ", has other platforms than the cluster " + dispute.other +
                       " has said: nothing with this digest is shared");
  }
}

Async<> FactCollector::Write() {
  image_facts::FactBook& book = facts_.book();
  if (!shared_.loaded()) {
    Result<std::vector<ImageFacts>> stored = co_await shared_.Load();
    if (!stored) co_return stored.error();
    head_.clear();
    // Who has published what is in them is not known: they are written again.
    for (ImageFacts& object : *stored) {
      object.configuration.clear();
      book.Restore(object, clock_.Now());
    }
  }
  const auto wall = image_facts::SecondsNow(clock_);
  DropStale(book, wall, clock_.Now() + kSharedLimits.again);
  Result<bool> wrote = co_await shared_.WriteDue(book, clock_);
  if (!wrote) co_return wrote.error();
  co_return kube::Ok();
}

Async<> FactCollector::WriteHead() {
  SharedVersions versions = shared_.versions();
  versions.erase(std::string(kSharedHead));
  std::string text = ToText(versions);
  if (text == head_) co_return kube::Ok();
  ImageFacts head;
  head.mutable_metadata()->set_name(std::string(kSharedHead));
  head.configuration = text;
  Result<> written = co_await shared_.Write(std::move(head));
  if (written) head_ = std::move(text);
  co_return written;
}

}  // namespace fleet

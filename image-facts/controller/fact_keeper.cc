// SPDX-License-Identifier: Apache-2.0
#include "image-facts/controller/fact_keeper.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/names.h"
#include "kube/base/backoff.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"

namespace image_facts {
namespace {

using inspection::PublicImage;
using kube::Async;
using kube::Result;

// More are learned again, after the lifetime of a tag.
constexpr size_t kMaxEarly = 4'096;

}  // namespace

FactKeeper::FactKeeper(std::string ns, kube::Client& client, kube::Clock& clock,
                       inspection::ImageInspector& images, FactMetrics& metrics, FactLimits limits)
    : ns_(std::move(ns)),
      client_(client),
      clock_(clock),
      images_(images),
      metrics_(metrics),
      book_(limits) {
  images_.Observe([this](PublicImage image) { OnLearned(std::move(image)); },
                  [this] { OnConfigured(); });
}

FactKeeper::~FactKeeper() { images_.Observe(nullptr, nullptr); }

void FactKeeper::Start(kube::TaskGroup& tasks) { tasks.Spawn("image-facts", Run()); }

Seconds FactKeeper::Now() const {
  return std::chrono::floor<std::chrono::seconds>(clock_.WallNow());
}

void FactKeeper::Follow(const api::ClusterPodPlacementConfig* config) {
  bool exists = config != nullptr && !config->metadata().has_deletion_timestamp();
  owner_ = exists ? config->metadata().uid() : "";
  changed_.NotifyAll();
}

kube::asio::awaitable<void> FactKeeper::Run() {
  co_await kube::IgnoreCancellation();
  kube::Backoff backoff({.base = kFirstRetry, .cap = kLastRetry});
  std::string logged;
  while (true) {
    Result<> done = co_await DoNext();
    if (done) {
      backoff.Reset();
      logged.clear();
    } else if (FailedWith(done, kube::Code::kCancelled)) {
      co_return;
    } else {
      metrics_.failures.Increment();
      std::string problem = kube::OneLine(done.error().ToString());
      LOG_IF(WARNING, problem != logged) << "image facts: " << problem;
      logged = std::move(problem);
    }
    UpdateMetrics();
    kube::Duration pause = done ? kube::Duration(kWriteInterval) : backoff.Next();
    Result<> slept = co_await clock_.Sleep(pause);
    if (!slept) co_return;
  }
}

Async<> FactKeeper::DoNext() {
  co_await kube::IgnoreCancellation();
  while (owner_.empty() || (loaded_ && !book_.HasDue())) {
    Result<> waited = co_await changed_.Wait();
    if (!waited) co_return waited;
  }
  Result<> done = kube::Ok();
  if (!loaded_) {
    done = co_await Load();
    co_return done;
  }
  std::optional<ImageFacts> object = book_.TakeDue(clock_.Now());
  if (object) done = co_await Write(std::move(*object));
  co_return done;
}

Async<> FactKeeper::Load() {
  kube::ListOptions options{.ns = ns_, .limit = 8};
  auto objects = co_await kube::List<ImageFacts>(client_, std::move(options));
  if (!objects) co_return objects.error().Prefix("list");
  stored_.clear();
  for (const ImageFacts& object : objects->items)
    stored_[object.metadata().name()] = object.metadata().resource_version();
  loaded_ = true;
  if (std::exchange(restored_, true)) co_return kube::Ok();
  Restore(objects->items);
  for (auto& [image, read] : std::exchange(early_, {})) Learn(std::move(image), read);
  co_return kube::Ok();
}

void FactKeeper::Restore(const std::vector<ImageFacts>& objects) {
  book_.Reset(images_.Configuration(), clock_.Now());
  std::vector<const ImageFact*> facts;
  for (const ImageFacts& object : objects) {
    book_.Restore(object, clock_.Now());
    if (object.configuration != images_.Configuration()) continue;
    for (const ImageFact& fact : object.facts) facts.push_back(&fact);
  }
  // The inspector's cache may have less room: it keeps the last ones.
  std::sort(facts.begin(), facts.end(),
            [](const ImageFact* a, const ImageFact* b) { return a->read < b->read; });
  for (const ImageFact* fact : facts) {
    // An earlier leader's clock may be ahead.
    std::chrono::seconds age = std::max(Now() - fact->read, std::chrono::seconds(0));
    images_.Restore({fact->image, fact->digest, fact->platforms}, age);
  }
}

void FactKeeper::OnLearned(PublicImage image) {
  if (restored_) {
    Learn(std::move(image), Now());
  } else if (early_.size() < kMaxEarly) {
    early_.emplace_back(std::move(image), Now());
  }
}

void FactKeeper::OnConfigured() {
  early_.clear();
  if (!restored_) return;
  book_.Reset(images_.Configuration(), clock_.Now());
  changed_.NotifyAll();
}

void FactKeeper::Learn(PublicImage image, Seconds read) {
  std::string name = image.image;
  ImageFact fact{std::move(image.image), std::move(image.digest), std::move(image.platforms), read};
  if (!book_.Put(std::move(fact), image.ns, clock_.Now())) return;
  if (!image.ns.empty()) book_.Use(name, image.ns);
  changed_.NotifyAll();
}

Async<> FactKeeper::Write(ImageFacts object) {
  co_await kube::IgnoreCancellation();
  kube::meta::ObjectMeta& metadata = *object.mutable_metadata();
  std::string name = metadata.name();
  metadata.set_namespace_(ns_);
  kube::meta::OwnerReference& owner = *metadata.add_owner_references();
  constexpr kube::Resource kOwner = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
  owner.set_api_version(kOwner.ApiVersion());
  owner.set_kind(std::string(kOwner.kind));
  owner.set_name(std::string(api::kClusterConfigName));
  owner.set_uid(owner_);
  auto stored = stored_.find(name);
  if (stored != stored_.end()) metadata.set_resource_version(stored->second);
  Result<ImageFacts> written = kube::Error::Internal("not written");
  if (stored == stored_.end()) {
    written = co_await kube::Create(client_, std::move(object));
  } else {
    written = co_await kube::Update(client_, std::move(object));
  }
  if (written) {
    metrics_.writes.Increment();
    stored_[name] = written->metadata().resource_version();
    co_return kube::Ok();
  }
  book_.Retry(name, clock_.Now());
  // Somebody else has deleted, created or changed it.
  loaded_ = !IsNotFound(written) && !IsConflict(written) &&
            !FailedWith(written, kube::Code::kAlreadyExists);
  co_return written.error().Prefix("write " + name);
}

void FactKeeper::UpdateMetrics() {
  metrics_.facts.Set(static_cast<double>(book_.size()));
  metrics_.bytes.Set(static_cast<double>(book_.bytes()));
}

}  // namespace image_facts

// SPDX-License-Identifier: Apache-2.0
#include "image-facts/controller/fact_keeper.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/owned_by_config.h"
#include "cluster-controller/pull_secrets.h"
#include "image-facts/by_config.h"
#include "image-facts/fact_scope.h"
#include "kube/base/backoff.h"
#include "kube/base/one_line.h"
#include "kube/types/version_number.h"

namespace image_facts {
namespace {

using cluster_controller::PodInspector;
using kube::Async;
using kube::Result;

// More are learned again, after the lifetime of a tag.
constexpr size_t kMaxEarly = 4'096;

// The request of a pod that may use the fact.
PodInspector::Images ImagesOf(const RefreshPlan::Item& item) {
  ScopeParts scope = PartsOf(item.scope);
  inspection::PodIdentity identity{.ns = IsOfSomePods(item.scope) ? std::move(scope.ns) : item.ns,
                                   .pod = "",
                                   .uid = "",
                                   .account = std::move(scope.account),
                                   .pull_secrets = std::move(scope.pull_secrets)};
  return PodInspector::Images::OfImage("image-facts/refresh", std::move(identity), item.image);
}

}  // namespace

FactKeeper::FactKeeper(std::string ns, kube::Client& client, kube::Clock& clock,
                       inspection::ImageInspector& images,
                       cluster_controller::ImageFindings& findings, AskAgain ask_again,
                       FactMetrics& metrics, FactLimits limits)
    : clock_(clock),
      images_(images),
      findings_(findings),
      ask_again_(std::move(ask_again)),
      metrics_(metrics),
      book_(limits),
      due_(clock, [this] { changed_.NotifyAll(); }),
      plan_due_(clock, [this] { plan_changed_.NotifyAll(); }),
      objects_(client, ns),
      metadata_(client),
      versions_(metadata_, clock,
                {.ns = std::move(ns), .resource = kube::ResourceOf<ImageFacts>::value}) {
  versions_.OnChange([this](kube::EventType, const kube::ObjectKey&) { changed_.NotifyAll(); });
  images_.Observe([this](inspection::Learned image) { OnLearned(std::move(image)); },
                  [this] { OnConfigured(); });
  findings_.OnPut([this](const std::string& digest) {
    EraseIf([&](const std::string& of_fact) { return of_fact == digest; });
  });
}

FactKeeper::~FactKeeper() {
  images_.Observe(nullptr, nullptr);
  findings_.OnPut(nullptr);
}

void FactKeeper::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("image-facts", Run());
  tasks.Spawn("image-facts-watch", versions_.Run());
  tasks.Spawn("image-facts-refresh", Refresh());
}

void FactKeeper::Follow(const api::ClusterPodPlacementConfig* config) {
  bool exists = config != nullptr && !config->metadata().has_deletion_timestamp();
  owner_ = exists ? config->metadata().uid() : "";
  objects_.SetOwner(api::OwnedByConfig(owner_));
  places_ = exists && AllowsPlacing(*config);
  if (!places_) plan_.Clear();
  EnsureAnObject();
  changed_.NotifyAll();
}

void FactKeeper::EnsureAnObject() {
  if (places_ && objects_.loaded() && objects_.versions().empty()) book_.WriteFirst(clock_.Now());
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
  auto executor = co_await kube::asio::this_coro::executor;
  while (true) {
    if (HasForeignWrite()) objects_.Forget();
    std::optional<kube::TimePoint> due = objects_.loaded() ? book_.NextDue() : clock_.Now();
    if (!owner_.empty() && due && *due <= clock_.Now()) break;
    if (!owner_.empty() && due) due_.Set(executor, *due);
    Result<> waited = co_await changed_.Wait();
    if (!waited) co_return waited;
  }
  if (!objects_.loaded()) co_return co_await Load();
  Result<bool> wrote = co_await objects_.WriteDue(book_, clock_);
  if (!wrote) co_return wrote.error();
  if (*wrote) metrics_.writes.Increment();
  co_return kube::Ok();
}

Async<> FactKeeper::Load() {
  Result<std::vector<ImageFacts>> objects = co_await objects_.Load();
  if (!objects) co_return objects.error();
  if (!std::exchange(restored_, true)) book_.Reset(images_.Configuration(), clock_.Now());
  Restore(*objects);
  EnsureAnObject();
  for (Learned& learned : std::exchange(early_, {})) Learn(std::move(learned));
  co_return kube::Ok();
}

kube::asio::awaitable<void> FactKeeper::Refresh() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  while (true) {
    std::optional<RefreshPlan::Item> item = plan_.TakeDue(clock_.Now());
    if (!item) {
      std::optional<kube::TimePoint> due = plan_.NextDue();
      if (due) plan_due_.Set(executor, *due);
      Result<> waited = co_await plan_changed_.Wait();
      if (!waited) co_return;
      continue;
    }
    metrics_.refreshes.Increment();
    PodInspector::Images images = ImagesOf(*item);
    images.deadline = clock_.Now() + cluster_controller::kSecretReadTimeout;
    Result<> asked = co_await ask_again_(std::move(images));
    if (FailedWith(asked, kube::Code::kCancelled)) co_return;
    if (!asked) VLOG(1) << "image facts: ask for " << item->image << " again: " << asked.error();
  }
}

bool FactKeeper::HasForeignWrite() const {
  const std::map<std::string, std::string>& known = objects_.versions();
  bool has = false;
  versions_.ForEach([&](const StoredVersion& version) {
    auto stored = known.find(version.metadata().name());
    has |= stored == known.end() || kube::VersionNumber(stored->second) <
                                        kube::VersionNumber(version.metadata().resource_version());
  });
  return has;
}

void FactKeeper::Restore(const std::vector<ImageFacts>& objects) {
  std::vector<const ImageFact*> facts;
  for (const ImageFacts& object : objects) {
    std::vector<const ImageFact*> added = book_.Restore(object, clock_.Now());
    facts.insert(facts.end(), added.begin(), added.end());
  }
  // The inspector's cache may have less room: it keeps the last ones.
  std::sort(facts.begin(), facts.end(),
            [](const ImageFact* a, const ImageFact* b) { return a->read < b->read; });
  for (const ImageFact* fact : facts) {
    // An earlier leader's clock may be ahead.
    std::chrono::seconds age = std::max(SecondsNow(clock_) - fact->read, std::chrono::seconds(0));
    plan_.Read({fact->image, fact->scope}, clock_.Now() - age);
    // The inspector reads these with credentials, which are not known here.
    if (!fact->scope.empty()) continue;
    images_.Restore({fact->image, fact->digest, fact->platforms}, age);
  }
  // What another cluster has shared, or an earlier leader has learned.
  if (findings_.size() > 0)
    EraseIf([this](const std::string& digest) { return findings_.Has(digest); });
}

void FactKeeper::EraseIf(const std::function<bool(const std::string& digest)>& has_finding) {
  std::vector<ImageFact> erased;
  book_.ForEach([&](const ImageFact& fact) {
    if (has_finding(fact.digest)) erased.push_back(fact);
  });
  for (const ImageFact& fact : erased) book_.Erase({fact.image, fact.scope}, clock_.Now());
  if (!erased.empty()) changed_.NotifyAll();
}

void FactKeeper::OnLearned(inspection::Learned image) {
  if (image.holders == inspection::Holders::kServiceAccount) return;
  static const inspection::PodIdentity kNone;
  const inspection::PodIdentity& pod = image.pod == nullptr ? kNone : *image.pod;
  std::string scope;
  if (image.holders == inspection::Holders::kPullSecret) {
    std::optional<std::string> own = ScopeOf(pod.ns, pod.account, pod.pull_secrets);
    if (!own) return;
    scope = std::move(*own);
  } else if (!image.anonymous) {
    scope = kWholeCluster;
  }
  auto age = std::chrono::ceil<std::chrono::seconds>(clock_.Now() - image.read);
  Learned learned{
      .fact = {std::move(image.answer.image), std::move(image.answer.digest),
               std::move(image.answer.platforms), SecondsNow(clock_) - age, std::move(scope)},
      .ns = pod.ns,
      .always_pull = image.always_pull,
      .used = !pod.pod.empty()};
  if (restored_) {
    Learn(std::move(learned));
  } else if (early_.size() < kMaxEarly) {
    early_.push_back(std::move(learned));
  }
}

void FactKeeper::OnConfigured() {
  early_.clear();
  if (!restored_) return;
  book_.Reset(images_.Configuration(), clock_.Now());
  changed_.NotifyAll();
}

void FactKeeper::Learn(Learned learned) {
  const std::string image = learned.fact.image, scope = learned.fact.scope;
  const FactName name{image, scope};
  const kube::TimePoint now = clock_.Now();
  const std::optional<kube::TimePoint> due = book_.NextDue();
  if (findings_.Has(learned.fact.digest)) {
    book_.Erase(name, now);
    if (book_.NextDue() != due) changed_.NotifyAll();
    return;
  }
  if (!book_.Put(std::move(learned.fact), learned.ns, now, learned.always_pull)) return;
  if (book_.NextDue() != due) changed_.NotifyAll();
  if (learned.used) book_.Use(name, learned.ns);
  if (!places_) return;
  const bool is_sooner = learned.used && plan_.Use(name, learned.ns, learned.always_pull, now);
  plan_.Read(name, now);
  if (is_sooner) plan_changed_.NotifyAll();
}

void FactKeeper::UpdateMetrics() {
  metrics_.facts.Set(static_cast<double>(book_.size()));
  metrics_.bytes.Set(static_cast<double>(book_.bytes()));
}

std::unique_ptr<FactKeeper> NewFactKeeper(const cluster_controller::TermParts& term,
                                          FactMetrics& metrics) {
  AskAgain ask_again = [&inspector = term.inspector](PodInspector::Images images) {
    return inspector.Prefetch(std::move(images));
  };
  return std::make_unique<FactKeeper>(term.operator_namespace, term.client, term.clock, term.images,
                                      term.findings, std::move(ask_again), metrics);
}

}  // namespace image_facts

// SPDX-License-Identifier: Apache-2.0
#include "image-facts/policy/hot_images.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "image-facts/by_config.h"
#include "image-facts/lifetime.h"
#include "image-facts/newest_configuration.h"

namespace image_facts {
namespace {

// In an expression, with quotes and the letter.
size_t BytesOf(const std::string& image) {
  constexpr size_t kAround = 10;
  size_t bytes = 0;
  for (const std::string& name : SpellingsOf(image)) bytes += name.size() + kAround;
  return bytes;
}

bool SameImages(const std::vector<KnownImage>& a, const std::vector<KnownImage>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const KnownImage& x, const KnownImage& y) {
        return x.image == y.image && PlatformsToText(*x.platforms) == PlatformsToText(*y.platforms);
      });
}

}  // namespace

HotImages::HotImages(kube::Client& client, kube::Clock& clock, std::string ns,
                     PolicyMetrics& metrics)
    : clock_(clock), metrics_(metrics), objects_(client, clock, {.ns = std::move(ns)}) {}

operator_::KnownTable HotImages::Table(const api::ClusterPodPlacementConfig* config) {
  Want(config != nullptr && AllowsPlacing(*config));
  return list_.empty() ? operator_::KnownTable() : MakeKnownTable(list_, *config);
}

void HotImages::Want(bool wanted) {
  if (std::exchange(wanted_, wanted) == wanted) return;
  SetList({});
  if (!wanted) return;
  wanted_again_.NotifyAll();
  if (std::exchange(started_, true)) return;
  tasks_->Spawn("image-facts", objects_.Run());
  tasks_->Spawn("hot-images", Follow());
}

boost::asio::awaitable<void> HotImages::Follow() {
  co_await kube::IgnoreCancellation();
  kube::Result<> waited = co_await objects_.WaitForSync();
  while (waited) {
    if (!wanted_) {
      waited = co_await wanted_again_.Wait();
      continue;
    }
    if (Refresh() && on_change_) on_change_();
    waited = co_await clock_.Sleep(kChangeEvery);
  }
}

bool HotImages::Counts(const NamedFact& fact) const {
  auto now = SecondsNow(clock_);
  if (fact.read > now + kClockSkew) return false;
  std::optional<std::chrono::seconds> lifetime = LifetimeOf({fact.image, fact.scope});
  return !lifetime || now - fact.read < *lifetime - kTakenOffBefore;
}

bool HotImages::Refresh() {
  const std::string configuration = NewestConfiguration(objects_);
  // The newest fact about each image.
  std::map<std::string_view, const NamedFact*> known;
  objects_.ForEach([&](const NamedFacts& object) {
    if (object.configuration() != configuration) return;
    for (const NamedFact& fact : object.facts()) {
      if (!Counts(fact)) continue;
      const NamedFact*& newest = known[fact.image];
      if (newest == nullptr || newest->read < fact.read) newest = &fact;
    }
  });
  std::set<std::string_view> listed;
  for (const KnownImage& image : list_) listed.insert(image.image);
  struct Candidate {
    const NamedFact* fact;
    bool stays;
  };
  std::vector<Candidate> in_order;
  in_order.reserve(known.size());
  for (const auto& [image, fact] : known) in_order.push_back({fact, listed.contains(image)});
  std::stable_sort(in_order.begin(), in_order.end(), [](const Candidate& a, const Candidate& b) {
    return a.stays != b.stays ? a.stays : a.fact->read > b.fact->read;
  });

  std::vector<KnownImage> list;
  size_t bytes = 0;
  for (const Candidate& candidate : in_order) {
    bytes += BytesOf(candidate.fact->image);
    if (bytes > kMaxNameBytes) break;
    list.push_back({candidate.fact->image, candidate.fact->platforms});
  }
  std::sort(list.begin(), list.end(),
            [](const KnownImage& a, const KnownImage& b) { return a.image < b.image; });
  if (SameImages(list, list_)) return false;
  SetList(std::move(list));
  return true;
}

void HotImages::SetList(std::vector<KnownImage> list) {
  list_ = std::move(list);
  metrics_.images.Set(static_cast<double>(list_.size()));
}

operator_::NewKnownImages NewHotImages(PolicyMetrics& metrics) {
  return [&metrics](kube::Client& client, kube::Clock& clock, const std::string& ns) {
    return std::make_unique<HotImages>(client, clock, ns, metrics);
  };
}

}  // namespace image_facts

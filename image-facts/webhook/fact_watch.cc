// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/fact_watch.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "image-facts/fact_scope.h"
#include "image-facts/newest_configuration.h"
#include "inspection/base/reference.h"
#include "placement/images.h"

namespace image_facts {
namespace {

// More cost the webhook too much time, and pods do not have them.
constexpr size_t kMaxImages = 64;

}  // namespace

FactWatch::FactWatch(kube::Client& client, kube::Clock& clock, std::string ns)
    : clock_(clock), objects_(client, clock, {.ns = std::move(ns)}) {}

void FactWatch::OnChange(std::function<void()> listener) {
  objects_.OnChange(
      [listener = std::move(listener)](kube::EventType, const kube::ObjectKey&) { listener(); });
}

size_t FactWatch::size() const {
  size_t facts = 0;
  objects_.ForEach([&](const FactIndex& index) { facts += index.size(); });
  return facts;
}

FactWatch::Found FactWatch::Find(const FactUse& use, const std::string& configuration) const {
  const uint64_t hash = HashOf(use.image, use.scope);
  std::optional<FactIndex::Fact> newest;
  objects_.ForEach([&](const FactIndex& index) {
    if (index.configuration() != configuration) return;
    std::optional<FactIndex::Fact> fact = index.Find(hash);
    if (fact && (!newest || newest->read < fact->read)) newest = std::move(fact);
  });
  if (!newest) return NotKnown::kNeverRead;
  auto now = SecondsNow(clock_);
  if (newest->read > now + kClockSkew) return NotKnown::kNotCurrent;
  std::optional<std::chrono::seconds> lifetime = LifetimeOf(use);
  if (lifetime && now - newest->read >= *lifetime) return NotKnown::kTooOld;
  return newest->platforms;
}

std::variant<placement::CommonPlatforms, NotKnown> FactWatch::PlatformsOf(
    const kube::core::Pod& pod) const {
  if (!current()) return NotKnown::kNotCurrent;
  const std::vector<placement::ContainerImage> images = placement::ImagesOf(pod);
  if (images.empty() || images.size() > kMaxImages) return NotKnown::kOfNoRegistry;
  const std::string configuration = NewestConfiguration(objects_);
  const std::optional<std::string> own =
      ScopeOf(pod.metadata().namespace_(), pod.spec().service_account_name(),
              placement::PullSecretsOf(pod));
  std::vector<std::string_view> scopes = {"", kWholeCluster};
  if (own) scopes.push_back(*own);
  std::vector<placement::SharedPlatforms> known;
  for (const placement::ContainerImage& image : images) {
    if (image.only_volume || image.never_pull) return NotKnown::kOfNoRegistry;
    auto reference = inspection::Reference::Parse(image.reference);
    if (!reference) return NotKnown::kNeverRead;
    const std::string name = reference->ToString();
    Found found = NotKnown::kNeverRead;
    // What a registry tells everybody comes first. A fact that does not count is the reason, and
    // not that the others do not exist.
    for (std::string_view scope : scopes) {
      Found by_scope = Find({name, scope, image.always_pull}, configuration);
      if (by_scope != Found(NotKnown::kNeverRead)) found = std::move(by_scope);
      if (!std::holds_alternative<NotKnown>(found)) break;
    }
    if (auto* why = std::get_if<NotKnown>(&found)) return *why;
    known.push_back(std::get<placement::SharedPlatforms>(std::move(found)));
  }
  return placement::Common(known);
}

}  // namespace image_facts

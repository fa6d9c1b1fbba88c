// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/fact_publisher.h"

#include <optional>
#include <utility>
#include <vector>

#include "fleet/image-facts/fleet_objects.h"
#include "fleet/image-facts/shared_facts.h"
#include "kube/client/typed.h"

namespace fleet {

using image_facts::ImageFact;
using image_facts::ImageFacts;
using kube::Async;
using kube::Result;

FactPublisher::FactPublisher(kube::Client& hub, kube::Client& member, kube::Clock& clock,
                             std::string cluster, std::string operator_namespace)
    : member_(member),
      member_metadata_(member),
      clock_(clock),
      operator_namespace_(std::move(operator_namespace)),
      published_(hub, std::move(cluster)),
      book_(kPublishedLimits) {}

Async<kube::Duration> FactPublisher::Publish() {
  if (!published_.loaded()) {
    Result<> loaded = co_await Load();
    if (!loaded) co_return loaded.error().Prefix("hub");
  }
  Result<> collected = co_await Collect();
  if (!collected) co_return collected.error().Prefix("member");
  DropStale(book_, image_facts::SecondsNow(clock_), clock_.Now() + kPublishedLimits.again);
  Result<bool> wrote = true;
  while (wrote && *wrote) wrote = co_await published_.WriteDue(book_, clock_);
  if (!wrote) co_return wrote.error().Prefix("hub");
  co_return kEvery;
}

Async<> FactPublisher::Load() {
  Result<std::vector<ImageFacts>> objects = co_await published_.Load();
  if (!objects) co_return objects.error();
  book_.Reset(std::string(kFleetConfiguration), clock_.Now());
  read_.clear();
  for (const ImageFacts& object : *objects) book_.Restore(object, clock_.Now());
  co_return kube::Ok();
}

Async<> FactPublisher::Collect() {
  kube::ListOptions options{.ns = operator_namespace_};
  auto listed = co_await kube::ListObjects(member_metadata_, kube::ResourceOf<ImageFacts>::value,
                                           std::move(options));
  if (!listed) co_return listed.error();
  for (const kube::Unstructured& metadata : listed->items) {
    const std::string name = metadata.metadata().name();
    const std::string version = metadata.metadata().resource_version();
    if (auto read = read_.find(name); read != read_.end() && read->second == version) continue;
    kube::ObjectKey key{operator_namespace_, name};
    Result<ImageFacts> object = co_await kube::Get<ImageFacts>(member_, std::move(key));
    if (IsNotFound(object)) continue;
    if (!object) co_return object.error();
    for (ImageFact& fact : object->facts) {
      if (MayBeShared(fact, image_facts::SecondsNow(clock_)))
        AddNewer(book_, std::move(fact), "", clock_.Now());
    }
    read_[name] = object->metadata().resource_version();
  }
  co_return kube::Ok();
}

}  // namespace fleet

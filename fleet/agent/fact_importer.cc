// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/fact_importer.h"

#include <utility>

#include "fleet/image-facts/shared_facts.h"
#include "image-facts/exchange.h"
#include "kube/client/typed.h"

namespace fleet {

using image_facts::ImageFact;
using image_facts::ImageFacts;
using kube::Async;
using kube::Result;

Async<kube::Duration> FactImporter::Publish() {
  kube::ObjectKey head_key{hub_namespace_, std::string(kSharedHead)};
  Result<ImageFacts> head = co_await kube::Get<ImageFacts>(hub_, std::move(head_key));
  if (IsNotFound(head)) co_return kEvery;
  if (!head) co_return head.error().Prefix("hub");
  SharedVersions versions = SharedVersionsFromText(head->configuration);
  if (versions == imported_) co_return kEvery;
  Result<std::vector<ImageFacts>> stored = co_await stored_.Load();
  if (!stored) co_return stored.error().Prefix("member");
  // The cluster controller keeps none.
  if (stored->empty()) co_return kEvery;
  Result<std::vector<ImageFact>> facts = co_await Read(versions);
  if (!facts) co_return facts.error().Prefix("hub");
  Result<image_facts::Merged> merged = image_facts::Merge(std::move(*stored), *facts);
  if (!merged) co_return merged.error();
  for (ImageFacts& object : merged->objects) {
    Result<> written = co_await stored_.Write(std::move(object));
    if (!written) co_return written.error().Prefix("member");
  }
  imported_ = std::move(versions);
  co_return kEvery;
}

Async<std::vector<ImageFact>> FactImporter::Read(const SharedVersions& versions) {
  const auto now = image_facts::SecondsNow(clock_);
  std::vector<ImageFact> facts;
  for (const auto& [name, version] : versions) {
    if (auto before = imported_.find(name); before != imported_.end() && before->second == version)
      continue;
    kube::ObjectKey key{hub_namespace_, name};
    Result<ImageFacts> object = co_await kube::Get<ImageFacts>(hub_, std::move(key));
    if (IsNotFound(object)) continue;
    if (!object) co_return object.error();
    for (ImageFact& fact : object->facts) {
      if (MayBeShared(fact, now)) facts.push_back(std::move(fact));
    }
  }
  co_return facts;
}

}  // namespace fleet

// SPDX-License-Identifier: Apache-2.0
#include "image-facts/tool/commands.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "image-facts/exchange.h"
#include "image-facts/fact_scope.h"
#include "image-facts/image_facts.h"
#include "image-facts/lifetime.h"
#include "image-facts/stored_objects.h"
#include "image-facts/tool/signed_text.h"
#include "inspection/base/reference.h"

namespace image_facts {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

// Writes that met one of the cluster controller are made again, from what is stored then.
constexpr int kAttempts = 10;

std::string PodsOf(const std::string& scope) {
  if (scope.empty()) return "all pods";
  if (scope == kWholeCluster) return "all pods, by the credentials of the cluster";
  ScopeParts parts = PartsOf(scope);
  std::string text = "pods of namespace " + parts.ns + " with service account " + parts.account +
                     " and pull secrets";
  for (const std::string& secret : parts.pull_secrets) text += " " + secret;
  return text;
}

std::string Counts(const ImageFact& fact, bool always_pull, std::chrono::seconds age) {
  auto lifetime = LifetimeOf({fact.image, fact.scope, always_pull});
  if (!lifetime) return "yes, without end";
  if (age >= *lifetime) return "no, it is older than " + std::to_string(lifetime->count()) + " s";
  return "yes, for " + std::to_string((*lifetime - age).count()) + " s";
}

std::string Describe(const ImageFact& fact, std::chrono::seconds age) {
  return fact.image + "\n  digest:            " + fact.digest +
         "\n  platforms:         " + PlatformsToText(*fact.platforms) +
         "\n  known to:          " + PodsOf(fact.scope) +
         "\n  read:              " + std::to_string(age.count()) + " s ago" +
         "\n  counts:            " + Counts(fact, /*always_pull=*/false, age) +
         "\n  if always pulled:  " + Counts(fact, /*always_pull=*/true, age) + "\n";
}

}  // namespace

Async<std::string> Show(kube::Client& client, kube::Clock& clock, std::string ns,
                        std::string image) {
  Result<inspection::Reference> reference = inspection::Reference::Parse(image);
  if (!reference) co_return reference.error();
  StoredObjects objects(client, std::move(ns));
  Result<std::vector<ImageFacts>> stored = co_await objects.Load();
  if (!stored) co_return stored.error();
  const std::string name = reference->ToString();
  std::string text;
  for (const ImageFacts& object : *stored) {
    for (const ImageFact& fact : object.facts)
      if (fact.image == name) text += Describe(fact, SecondsNow(clock) - fact.read);
  }
  if (text.empty()) co_return Error::NotFound("nothing is known of " + name);
  co_return text;
}

Async<std::string> Export(kube::Client& client, std::string ns, std::string private_key) {
  StoredObjects objects(client, std::move(ns));
  Result<std::vector<ImageFacts>> stored = co_await objects.Load();
  if (!stored) co_return stored.error();
  co_return Sign(ToExport(*stored), private_key);
}

Async<std::string> Import(kube::Client& client, kube::Clock& clock, std::string ns,
                          std::string file, std::string public_key) {
  Result<std::string> text = Verify(file, public_key);
  if (!text) co_return text.error();
  Result<std::vector<ImageFact>> facts = FromExport(*text);
  if (!facts) co_return facts.error();
  // The clock of the other cluster may be ahead.
  for (ImageFact& fact : *facts) fact.read = std::min(fact.read, SecondsNow(clock));
  StoredObjects objects(client, std::move(ns));
  size_t added = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<std::vector<ImageFacts>> stored = co_await objects.Load();
    if (!stored) co_return stored.error();
    Result<Merged> merged = Merge(std::move(*stored), *facts);
    if (!merged) co_return merged.error();
    added = std::max(added, merged->added);
    Result<> written = kube::Ok();
    for (ImageFacts& object : merged->objects) {
      written = co_await objects.Write(std::move(object));
      if (!written) break;
    }
    if (written) {
      co_return std::to_string(added) + " facts added, " + std::to_string(merged->known) +
          " known before, " + std::to_string(merged->left_out) + " without room\n";
    }
    if (!IsConflict(written) && !FailedWith(written, kube::Code::kAlreadyExists))
      co_return written.error();
  }
  co_return Error::Conflict("the cluster controller has changed the objects each time");
}

}  // namespace image_facts

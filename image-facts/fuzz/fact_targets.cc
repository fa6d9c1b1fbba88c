// SPDX-License-Identifier: Apache-2.0
#include "image-facts/fuzz/fact_targets.h"

#include <glog/logging.h>
#include <simdjson.h>

#include <optional>
#include <string>
#include <utility>

#include "api/architecture_tolerations.h"
#include "api/platform.h"
#include "fuzz/base/patched.h"
#include "image-facts/exchange.h"
#include "image-facts/fact_index.h"
#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "image-facts/known_images_report.h"
#include "kube/testing/serialize_in_order.h"
#include "kube/types/unstructured.h"
#include "placement/placed_at_creation.h"
#include "webhook/placement_patch.h"
#include "webhook/pod_from_json.h"

namespace image_facts {
namespace {

using kube::Json;
using kube::Result;

// What is read from an object is read again from what is written of it.
void FuzzObject(const std::string& input) {
  Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  Result<ImageFacts> facts = ImageFacts::FromJson(*json);
  CHECK(facts) << facts.error();
  CHECK_LE(facts->facts.size(), kMaxFactsPerObject);
  Result<FactIndex> index = FactIndex::FromJson(*json);
  CHECK(index) << index.error();
  CHECK_LE(index->size(), facts->facts.size());
  Result<ImageFacts> again = ImageFacts::FromJson(facts->ToJson());
  CHECK(again) << again.error();
  CHECK_EQ(again->facts.size(), facts->facts.size());
  for (size_t i = 0; i < facts->facts.size(); ++i) {
    const ImageFact& before = facts->facts[i];
    const ImageFact& after = again->facts[i];
    CHECK_EQ(before.image, after.image);
    CHECK_EQ(before.digest, after.digest);
    CHECK_EQ(before.scope, after.scope);
    CHECK(before.read == after.read);
    CHECK(before.platforms->platforms == after.platforms->platforms);
  }
}

void FuzzLine(const std::string& input) {
  std::optional<FactLine> line = FactLineFromText(input);
  if (line) {
    const std::string text = ToText(*line);
    std::optional<FactLine> again = FactLineFromText(text);
    CHECK(again) << text;
    CHECK_EQ(ToText(*again), text);
  }
  if (auto platforms = PlatformsFromText(input)) {
    const std::string text = PlatformsToText(*platforms);
    auto again = PlatformsFromText(text);
    CHECK(again) << text;
    CHECK(again->platforms == platforms->platforms);
  }
  if (auto report = ReportFromText(input)) CHECK(ReportFromText(ToText(*report)) == report);
}

void FuzzExport(const std::string& input) {
  Result<std::vector<ImageFact>> facts = FromExport(input);
  if (!facts) return;
  ImageFacts object;
  for (const ImageFact& fact : *facts) {
    CHECK(fact.scope.empty());
    object.facts.push_back(fact);
  }
  CHECK(FromExport(ToExport({std::move(object)})));
}

// A pod in a review: the patch makes of the JSON what placement made of the pod, and nothing else.
void FuzzPlacedPod(const std::string& input) {
  static const api::ArchitectureTolerations kTolerations{.enabled = true};
  static const std::vector<api::Platform> kPlatforms = {{.architecture = "arm64", .weight = 10}};
  // The API server does not send JSON with duplicate keys.
  Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  // It sends no pod without these, and the patch adds to them.
  const Json* metadata = kube::Find(*json, "metadata");
  const Json* spec = kube::Find(*json, "spec");
  if (metadata == nullptr || !metadata->is_object()) return;
  if (spec == nullptr || !spec->is_object()) return;
  const std::string text = kube::DumpJson(*json);
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(text).get(element) != simdjson::SUCCESS) return;
  const webhook::PodInReview review = webhook::PodFromJson(element, "ns");
  placement::ClusterDecision decision{
      .platforms = placement::CommonPlatforms(placement::ArchitectureSet{"amd64", "arm64"})};
  decision.cluster_platforms = kPlatforms;
  decision.cluster_tolerations = &kTolerations;
  kube::core::Pod placed = review.pod;
  if (!placement::PlaceAtCreation(placed, std::move(decision))) return;
  std::optional<std::string> patch = webhook::PlacementPatch(review, placed);
  if (!patch) return;
  const std::string patched = kube::DumpJson(fuzz::Patched(*json, *patch));
  CHECK(parser.parse(patched).get(element) == simdjson::SUCCESS);
  CHECK_EQ(kube::SerializeInOrder(webhook::PodFromJson(element, "ns").pod),
           kube::SerializeInOrder(placed))
      << *patch;
}

}  // namespace

std::vector<fuzz::FuzzTarget> FactTargets() {
  return {{"image-facts", FuzzObject},
          {"fact-line", FuzzLine},
          {"facts-export", FuzzExport},
          {"placed-pod", FuzzPlacedPod}};
}

}  // namespace image_facts

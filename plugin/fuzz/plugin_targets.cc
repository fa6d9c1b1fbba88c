// SPDX-License-Identifier: Apache-2.0
#include "plugin/fuzz/plugin_targets.h"

#include <glog/logging.h>
#include <simdjson.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"
#include "plugin/inspect/image_details.h"
#include "plugin/inspect/newer_tags.h"
#include "plugin/pod/why_pod.h"
#include "plugin/simulate/simulate_pod.h"
#include "plugin/simulate/simulation_text.h"
#include "plugin/simulate/subjects.h"
#include "webhook/pod_from_json.h"

namespace plugin {
namespace {

using kube::Json;

// Nothing in it controls a terminal.
void CheckPrintable(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    CHECK(byte >= 0x20 || byte == '\n') << i;
    CHECK_NE(byte, 0x7f) << i;
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    CHECK(byte != 0xc2 || next < 0x80 || next >= 0xa0) << i;
  }
}

void FuzzManifest(const std::string& input) {
  kube::Result<ManifestSummary> summary = SummarizeManifest(input);
  if (!summary) return;
  ImageDetails details{.image = "r.io/app:1", .variants = std::move(summary->variants)};
  for (ImageVariant& variant : details.variants) variant.bytes = summary->bytes;
  CheckPrintable(Say(details));
  CHECK(!kube::DumpJson(AsJson(details)).empty());
}

// The first line is the tag.
void FuzzTags(const std::string& input) {
  std::istringstream lines(input);
  std::string tag, line;
  std::getline(lines, tag);
  std::vector<std::string> tags;
  while (std::getline(lines, line)) tags.push_back(line);
  constexpr size_t kLimit = 3;
  std::vector<std::string> newer = NewerTags(tag, tags, kLimit);
  CHECK_LE(newer.size(), kLimit);
  // None is newer than itself, nor older than what comes after it.
  for (size_t i = 0; i < newer.size(); ++i) {
    CHECK_NE(newer[i], tag);
    std::vector<std::string> after = NewerTags(newer[i], newer, kLimit);
    for (size_t j = i + 1; j < newer.size(); ++j)
      CHECK_EQ(std::count(after.begin(), after.end(), newer[j]), 0) << newer[i];
  }
}

// {"pod": ..., "events": [{"reason": ..., "message": ...}], "configs": [...]}
void FuzzAnswer(const std::string& input) {
  kube::Result<Json> json = kube::ParseJson(input);
  if (!json || !json->is_object()) return;
  const std::string pod = kube::DumpJson(kube::ObjectAt(*json, "pod"));
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(pod).get(element) != simdjson::SUCCESS) return;
  PodEvidence evidence;
  evidence.pod = webhook::PodFromJson(element, "shop").pod;
  for (const Json& event : kube::ListAt(*json, "events")) {
    kube::core::Event& added = evidence.events.emplace_back();
    added.set_reason(kube::StringAt(event, "reason"));
    added.set_message(kube::StringAt(event, "message"));
  }
  for (const Json& config : kube::ListAt(*json, "configs")) {
    auto read = api::PodPlacementConfig::FromJson(config);
    if (read) evidence.around->configs.push_back(std::move(*read));
  }
  CheckPrintable(WhyPod(evidence));
  CHECK(!kube::DumpJson(WhyPodAsJson(evidence)).empty());
}

void FuzzManifests(const std::string& input) {
  kube::Result<Manifests> manifests = ReadManifests(input, "shop");
  if (!manifests) return;
  for (const Subject& subject : manifests->subjects) {
    auto around = std::make_shared<NamespaceEvidence>();
    around->configs = manifests->configs;
    CheckPrintable(Say(SimulatePod(subject, around, {})));
  }
}

}  // namespace

std::vector<fuzz::FuzzTarget> PluginTargets() {
  return {{"plugin-manifest", FuzzManifest},
          {"plugin-tags", FuzzTags},
          {"plugin-answer", FuzzAnswer},
          {"plugin-simulation", FuzzManifests}};
}

}  // namespace plugin

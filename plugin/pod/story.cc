// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/story.h"

#include <algorithm>
#include <string_view>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/base/join.h"
#include "placement/local_configs.h"
#include "placement/pod_metadata.h"
#include "plugin/text/age.h"
#include "plugin/text/printable.h"

namespace plugin {
namespace {

using kube::WallTime;
using kube::core::Event;
using kube::core::Pod;
using kube::core::PodCondition;

WallTime ToWallTime(const kube::meta::Time& time) {
  return WallTime(std::chrono::seconds(time.seconds())) + std::chrono::nanoseconds(time.nanos());
}

// An absent time is an empty message: the scheduler sets eventTime alone.
WallTime TimeOf(const Event& event) {
  if (event.last_timestamp().seconds() > 0) return ToWallTime(event.last_timestamp());
  if (event.event_time().seconds() > 0) return ToWallTime(event.event_time());
  return ToWallTime(event.metadata().creation_timestamp());
}

const PodCondition* FindCondition(const Pod& pod, std::string_view type) {
  for (const PodCondition& condition : pod.status().conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

std::string DescribeCreation(const Pod& pod) {
  std::string text = "created";
  for (const auto& owner : pod.metadata().owner_references()) {
    if (owner.controller()) text += " by the " + owner.kind() + " " + owner.name();
  }
  std::vector<std::string> gates;
  for (std::string_view gate : {api::kLocalGate, api::kClusterGate}) {
    if (!placement::LabelOf(pod, gate).empty()) gates.emplace_back(gate);
  }
  if (placement::HasLabel(pod, api::kPlacedAtCreationLabel)) {
    text += ", and placed then: its images were known";
  } else if (gates.empty()) {
    text += ", without a gate of the operator";
  }
  if (!gates.empty()) text += ", with the gate " + kube::Join(gates, gates.size());
  std::vector<std::string> configs = placement::GatingConfigs(pod);
  if (!configs.empty()) {
    constexpr size_t kShown = 8;
    text += "; selected by the PodPlacementConfig " + kube::Join(configs, kShown);
  }
  return Printable(text);
}

std::string DescribeEvent(const Event& event) {
  std::string_view source = event.source().component();
  if (source.empty()) source = event.reporting_component();
  std::string text;
  if (source != api::kEventComponent && !source.empty()) text = std::string(source) + ": ";
  text += event.reason() + ": " + event.message();
  if (event.count() > 1) text += " (" + std::to_string(event.count()) + " times)";
  return Printable(text);
}

}  // namespace

std::vector<StoryLine> TellStory(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  std::vector<StoryLine> story;
  story.push_back({ToWallTime(pod.metadata().creation_timestamp()), DescribeCreation(pod)});
  bool has_binding = false;
  for (const Event& event : evidence.events) {
    has_binding |= event.reason() == "Scheduled";
    story.push_back({TimeOf(event), DescribeEvent(event)});
  }
  const PodCondition* scheduled = FindCondition(pod, "PodScheduled");
  if (scheduled != nullptr && scheduled->status() == "True" && !has_binding)
    story.push_back({ToWallTime(scheduled->last_transition_time()),
                     "scheduled to the node " + pod.spec().node_name()});
  std::stable_sort(story.begin(), story.end(),
                   [](const StoryLine& a, const StoryLine& b) { return a.at < b.at; });
  return story;
}

std::string DescribeState(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  const std::string age = DescribeAge(std::chrono::duration_cast<std::chrono::seconds>(
      evidence.now - ToWallTime(pod.metadata().creation_timestamp())));
  if (pod.metadata().has_deletion_timestamp()) return "is being deleted";
  if (pod.spec().scheduling_gates_size() > 0) {
    std::vector<std::string> gates;
    for (const auto& gate : pod.spec().scheduling_gates()) gates.push_back(gate.name());
    return Printable("has waited for " + age + " for the gate " + kube::Join(gates, gates.size()));
  }
  if (pod.spec().node_name().empty())
    return "was created " + age + " ago, has no gate, and is not scheduled";
  return Printable("is on the node " + pod.spec().node_name() + " (" + pod.status().phase() + ")");
}

}  // namespace plugin

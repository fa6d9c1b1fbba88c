// SPDX-License-Identifier: Apache-2.0
#include "plugin/simulate/simulate_pod.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "api/names.h"
#include "cluster-controller/timing.h"
#include "placement/daemon_nodes.h"
#include "placement/gate.h"
#include "placement/judged_images.h"
#include "placement/matching_configs.h"
#include "placement/pod_metadata.h"
#include "placement/requirement.h"
#include "plugin/pod/never_gated.h"

namespace plugin {
namespace {

using kube::core::Pod;

void AddGate(Pod& pod, std::string_view gate, std::string_view label, Outcome& outcome) {
  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(gate));
  placement::SetLabel(pod, label, api::kGated);
  outcome.gates.emplace_back(gate);
}

// nullopt: the platforms of an image are not known.
std::optional<placement::CommonPlatforms> CommonOf(const std::vector<PodImage>& images) {
  std::vector<placement::JudgedImage> judged;
  for (const PodImage& image : images) {
    if (image.platforms == nullptr) return std::nullopt;
    judged.push_back({image.platforms, image.wrong});
  }
  return placement::CommonOf(judged).common;
}

std::string FirstProblem(const std::vector<PodImage>& images) {
  for (const PodImage& image : images) {
    if (image.platforms == nullptr) return image.source;
  }
  return "";
}

placement::ClusterDecision DecisionOf(const api::ClusterPodPlacementConfig& config,
                                      const std::vector<PodImage>& images) {
  placement::ClusterDecision decision;
  decision.preferences_decided = true;
  decision.cluster_platforms = config.Preferences();
  decision.namespace_takes_precedence = config.NamespaceTakesPrecedence();
  decision.cluster_tolerations = config.Tolerations();
  decision.fallback_architecture = config.spec.fallback_architecture;
  decision.platforms = CommonOf(images);
  if (decision.platforms && !config.WantsAmd64Levels()) decision.platforms->amd64_level = 0;
  decision.inspection_error = FirstProblem(images);
  if (!decision.platforms) decision.inspection_tries = cluster_controller::kMaxAttempts;
  return decision;
}

// Gates and releases the pod as the webhooks, the shard and the cluster controller do.
void Place(const NamespaceEvidence& around, Outcome& outcome) {
  Pod& pod = outcome.pod;
  AddGate(pod, api::kClusterGate, api::kClusterGateLabel, outcome);
  const api::ClusterPodPlacementConfig defaults;
  placement::ClusterDecision decision =
      DecisionOf(around.cluster_config ? *around.cluster_config : defaults, outcome.images);
  placement::MatchingConfigs configs = placement::ConfigsFor(pod, around.configs);
  const bool local = std::any_of(configs.begin(), configs.end(),
                                 [](const auto& one) { return one.config->MayChangePods(); });
  if (local) {
    AddGate(pod, api::kLocalGate, api::kLocalGateLabel, outcome);
    placement::Release release = placement::ReleaseLocal(pod, configs);
    outcome.events = std::move(release.events);
  }
  decision.configs = std::move(configs);
  placement::Release release = placement::ReleaseCluster(pod, decision);
  outcome.events.insert(outcome.events.end(), release.events.begin(), release.events.end());
}

void JudgeDaemonSet(const NamespaceEvidence& around, Outcome& outcome) {
  std::optional<placement::CommonPlatforms> common = CommonOf(outcome.images);
  if (!common || !around.nodes) return;
  const kube::core::PodSpec constraints = placement::NodeConstraintsOf(outcome.pod.spec());
  for (const placement::NodeView& node : *around.nodes) {
    if (!placement::RunsOn(constraints, node) || placement::SupportNode(*common, node)) continue;
    outcome.unsupported_nodes.push_back(node.name + " (" + placement::PlatformOf(node) + ")");
  }
}

}  // namespace

Outcome SimulatePod(const Subject& subject, std::shared_ptr<NamespaceEvidence> around,
                    std::vector<PodImage> images) {
  Outcome outcome{.name = subject.Name(), .images = std::move(images), .pod = subject.pod};
  std::optional<Cause> left_alone = WhyNeverGated(outcome.pod, *around);
  PodEvidence evidence{.now = {}, .pod = outcome.pod, .around = around};
  if (!left_alone) {
    outcome.configs = DescribeConfigs(evidence);
    Place(*around, outcome);
  }
  outcome.preferences = DescribePreferences(outcome.pod);
  if (subject.kind == "DaemonSet") JudgeDaemonSet(*around, outcome);
  if (around->nodes) outcome.nodes = Summarize(outcome.pod.spec(), *around->nodes);
  evidence.pod = outcome.pod;
  outcome.cause = left_alone ? *left_alone : FindCause(evidence);
  const bool nodes_fit = !outcome.nodes || outcome.nodes->fitting > 0;
  outcome.would_run = nodes_fit && outcome.unsupported_nodes.empty() &&
                      FirstProblem(outcome.images).empty() &&
                      !placement::HasLabel(outcome.pod, api::kNoSupportedArchLabel);
  return outcome;
}

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/creation_model.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "sim/checker/gating_model.h"
#include "sim/checker/pod_fields.h"
#include "sim/checker/preference_model.h"
#include "sim/checker/requirement_model.h"

namespace sim::checker {
namespace {

// What the images may have in common, by facts that counted at the creation.
std::set<Common> KnownCommons(const std::vector<PodImage>& images, Time created,
                              const Facts& facts) {
  std::vector<std::vector<Image>> chosen = {{}};
  for (const PodImage& image : images) {
    const Timing& timing = facts.timing;
    const Time from = created - (image.always_pull ? timing.known_tag_of_always : timing.known_tag);
    std::vector<std::vector<Image>> next;
    for (const Image& found : facts.images.Found(image.reference, from, created, Time::zero())) {
      for (const std::vector<Image>& one : chosen) {
        next.push_back(one);
        next.back().push_back(found);
      }
    }
    chosen = std::move(next);
  }
  std::set<Common> commons;
  for (const std::vector<Image>& one : chosen) commons.insert(CommonOf(one));
  return commons;
}

// The first difference from what `cluster` makes of the pod with these images; "" if none.
// nullopt: the model does not say.
std::optional<std::string> DifferenceBy(const ClusterConfig& cluster, const Common& common,
                                        const Json& sent, const Json& stored) {
  std::string difference = DiffersFrom(Prefer(sent, SourcesOf(cluster)), sent, stored);
  if (!difference.empty()) return difference;
  const RequirementAnswer answer = Require(sent, common);
  if (!answer.not_judged.empty()) return std::nullopt;
  difference = DiffersFrom(answer, sent, stored);
  if (!difference.empty()) return difference;
  std::multiset<std::string> wanted;
  if (cluster.tolerations)
    wanted = TolerationsFor(*cluster.tolerations, sent, answer.architectures);
  return AddedTolerations(sent, stored) == wanted ? "" : "has other tolerations";
}

}  // namespace

void CheckPlacedAtCreation(const Commit& commit, const History& history, const Facts& facts,
                           JudgedReleases& judged, Violations& violations) {
  if (!IsOf(commit, "", "pods") || commit.before || !commit.after || !commit.sent) return;
  const Json& sent = *commit.sent;
  const Json& stored = *commit.after;
  // A copy of a placed pod has the label, and requires what it requires itself.
  if (!HasLabel(stored, api::kPlacedAtCreationLabel) || HasLabel(sent, api::kPlacedAtCreationLabel))
    return;
  auto report = [&](const std::string& text) {
    violations.push_back(At(commit, "I4", "a pod that was placed at its creation " + text));
  };
  if (HasGate(stored, api::kClusterGate)) report("has the cluster gate");
  const auto configs = PlacingConfigs(commit, history, facts);
  if (configs.empty()) return report("had to be gated");
  if (!facts.images_known) return;

  const std::set<Common> commons = KnownCommons(ImagesOf(sent), commit.at, facts);
  if (commons.empty()) return report("has images that were not known");
  std::string first;
  for (const ClusterConfig* config : configs) {
    for (const Common& common : commons) {
      std::optional<std::string> difference = DifferenceBy(*config, common, sent, stored);
      if (!difference) {
        ++judged.not_judged["placed at creation"];
        return;
      }
      if (difference->empty()) {
        ++judged.judged;
        ++judged.at_creation;
        return;
      }
      if (first.empty()) first = *difference;
    }
  }
  report(first);
}

}  // namespace sim::checker

// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/release_model.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/known_images.h"
#include "kube/types/list_at.h"
#include "sim/checker/gate_rules.h"
#include "sim/checker/preference_model.h"
#include "sim/checker/requirement_model.h"
#include "sim/checker/user_fields.h"

namespace sim::checker {
namespace {

constexpr size_t kLongestError = 256;
// More combinations of what images were are not enumerated.
constexpr size_t kMostCombinations = 256;

using SharedConfigs = std::vector<const NamespaceConfigs*>;
using ClusterConfigs = std::vector<const std::shared_ptr<const ClusterConfig>*>;

// The allowed answers for one part of a write: kept if one of them is the result.
class Alternatives {
 public:
  // `difference`: of the result from this answer.
  void Try(const std::string& difference) {
    ++tried_;
    if (difference.empty()) kept_ = true;
    if (first_.empty()) first_ = difference;
  }
  bool kept() const { return kept_; }
  size_t tried() const { return tried_; }
  std::string Describe() const {
    if (tried_ == 0) return "nothing is allowed";
    return tried_ == 1 ? first_
                       : first_ + " (or one of " + std::to_string(tried_ - 1) + " other answers)";
  }

 private:
  bool kept_ = false;
  size_t tried_ = 0;
  std::string first_;
};

class Judge {
 public:
  Judge(const PodChange& change, const PodLife& life, const History& history, const Facts& facts,
        JudgedReleases& judged, Violations& violations)
      : change_(change),
        life_(life),
        history_(history),
        facts_(facts),
        judged_(judged),
        violations_(violations),
        configs_(history.ConfigsFor(change.commit.key.ns, life, change.commit.version)),
        cluster_configs_(history.cluster_config().During(life.created - facts.timing.watch_lag,
                                                         change.commit.version)) {}

  void Run() {
    if (change_.writer.Is(Program::kOperator)) {
      ++judged_.bare;  // user_fields.h: it may do nothing else; gating_model.h: and when
      return;
    }
    if (history_.had_policies()) return NotJudged("scheduling policies");
    Placement placed = IsPlaced(change_, life_, history_, facts_);
    bool bare = OnlyRemovesGates(change_.before, change_.after);
    bool refused = facts_.refusals.Between(change_.commit.user, change_.commit.key, life_.created,
                                           change_.commit.at);
    if (bare && (placed != Placement::kYes || refused)) {
      ++judged_.bare;
      return;
    }
    if (placed == Placement::kNo) {
      Report("placed a pod that opts out or is never placed: " +
             DescribeDifference(change_.before, change_.after));
      return;
    }
    ++judged_.judged;
    if (change_.writer.Is(Program::kShard)) {
      JudgeLocal();
    } else if (change_.writer.Is(Program::kClusterController)) {
      JudgeCluster(refused);
    }
  }

 private:
  void Report(const std::string& text) {
    violations_.push_back(At(change_.commit, "I4", change_.writer.Describe() + " " + text));
  }
  void NotJudged(const std::string& why) { ++judged_.not_judged[why]; }

  // ---- The shard: preferences, and whose tolerations apply.

  void JudgeLocal() {
    Alternatives preferences, tolerations;
    for (const NamespaceConfigs* all : configs_) {
      InForce in_force = InForceOf(*all);
      NamespaceConfigs selected = SelectedBy(in_force, change_.before);
      if (!CanJudge(in_force, selected)) return;
      preferences.Try(LocalDifference(selected));
      tolerations.Try(LocalTolerations(selected));
    }
    if (!preferences.kept()) Report(preferences.Describe());
    if (!tolerations.kept()) Report(tolerations.Describe());
  }

  // How the preferences differ from those that these configurations give.
  std::string LocalDifference(const NamespaceConfigs& selected) {
    std::vector<PreferenceSource> sources = SourcesOf(selected);
    if (!IsPlacedBehindLocalGate(change_.before))
      return DiffersFrom(Prefer(change_.before, sources), change_.before, change_.after);
    std::vector<PlatformWeight> of_cluster;
    const Json before = WithoutPreferencesOfCluster(change_.before, of_cluster);
    const bool yields =
        LabelOf(before, api::kPlacedAtCreationLabel) == api::kYieldsToNamespace &&
        (!sources.empty() || OfNamespace(before).set || OfNamespace(before).skipped);
    if (!of_cluster.empty() && !yields)
      sources.push_back({"ClusterPodPlacementConfig", std::move(of_cluster)});
    PreferenceAnswer answer = Prefer(before, sources);
    answer.no_sources = sources.empty() && !answer.has_any;
    return DiffersFrom(answer, before, change_.after);
  }

  // Of a pod that was placed at its creation, the shard adds them.
  std::string PlacedTolerations(const std::optional<TolerationPlugin>& plugin, bool refused) {
    const std::multiset<std::string> added = AddedTolerations(change_.before, change_.after);
    if (added.empty() && refused) return "";
    Architectures architectures;
    if (LabelOf(change_.before, api::kNodeAffinityLabel) == api::kSet) {
      for (const auto& [key, value] : LabelsOf(change_.before).items()) {
        if (key.starts_with(api::kLabelPrefix) &&
            IsArchitecture(key.substr(api::kLabelPrefix.size())))
          architectures.insert(key.substr(api::kLabelPrefix.size()));
      }
    }
    std::multiset<std::string> wanted;
    if (plugin) wanted = TolerationsFor(*plugin, change_.before, architectures);
    return added == wanted
               ? ""
               : "added the tolerations " + ListOf(added) + " instead of " + ListOf(wanted);
  }

  std::string LocalTolerations(const NamespaceConfigs& selected) {
    auto decides = std::find_if(selected.begin(), selected.end(),
                                [](const auto& config) { return config->tolerations.has_value(); });
    if (IsPlacedBehindLocalGate(change_.before)) {
      bool refused = facts_.refusals.Between(change_.commit.user, change_.commit.key, life_.created,
                                             change_.commit.at);
      return PlacedTolerations(decides == selected.end() ? std::nullopt : (*decides)->tolerations,
                               refused);
    }
    bool records = decides != selected.end() && HasGate(change_.before, api::kClusterGate);
    std::string before = AnnotationOf(change_.before, api::kLocalTolerationsAnnotation);
    std::string wanted = records ? (*decides)->name : before;
    std::string found = AnnotationOf(change_.after, api::kLocalTolerationsAnnotation);
    return found == wanted ? ""
                           : "set the annotation local-tolerations to \"" + found +
                                 "\" instead of \"" + wanted + "\"";
  }

  // Rules and equal priorities are not modelled.
  bool CanJudge(const InForce& in_force, const NamespaceConfigs& selected) {
    if (in_force.unclear) {
      NotJudged("two configurations of one priority and age");
      return false;
    }
    if (std::any_of(selected.begin(), selected.end(),
                    [](const auto& config) { return config->rules; })) {
      NotJudged("CEL rules");
      return false;
    }
    return true;
  }

  // ---- The cluster controller: everything.

  void JudgeCluster(bool refused) {
    JudgeClusterPreferences();
    if (HasGate(change_.before, api::kClusterGate)) JudgeRequirement(refused);
  }

  void JudgeClusterPreferences() {
    Alternatives preferences, tolerations;
    // The shard's work is done for a pod whose local gate it has removed, unless somebody has
    // removed the mark (docs/protocol.md, T6).
    bool with_shard =
        life_.local_done && LabelOf(change_.before, api::kLocalGateLabel) == api::kRemoved;
    bool only_local = !HasGate(change_.before, api::kClusterGate);
    SharedConfigs snapshots = configs_;
    static const NamespaceConfigs kNone;
    if (with_shard) snapshots = {&kNone};
    if (MayHaveCopiedMark()) snapshots.push_back(&kNone);
    for (const NamespaceConfigs* all : snapshots) {
      InForce in_force = InForceOf(*all);
      NamespaceConfigs selected = SelectedBy(in_force, change_.before);
      if (!CanJudge(in_force, selected)) return;
      std::vector<PreferenceSource> of_namespace = SourcesOf(selected);
      // A takeover of a pod that awaits other gates.
      if (HasGate(change_.before, api::kLocalGate) && HasGate(change_.after, api::kClusterGate))
        tolerations.Try(LocalTolerations(selected));
      if (only_local) {
        preferences.Try(LocalDifference(selected));
        if (IsPlacedBehindLocalGate(change_.before)) tolerations.Try(LocalTolerations(selected));
        continue;
      }
      for (const auto* cluster : cluster_configs_)
        TryPreferences(of_namespace, **cluster, preferences);
    }
    if (!preferences.kept()) Report(preferences.Describe());
    if (tolerations.tried() > 0 && !tolerations.kept()) Report(tolerations.Describe());
  }

  // The mark of a removed local gate, in a pod that no admission of the product has seen: its
  // author gave it the cluster gate (docs/protocol.md, T1).
  bool MayHaveCopiedMark() const {
    return LabelOf(change_.before, api::kLocalGateLabel) == api::kRemoved &&
           LabelOf(change_.before, api::kClusterGateLabel) != api::kGated;
  }

  void TryPreferences(const std::vector<PreferenceSource>& of_namespace,
                      const ClusterConfig& cluster, Alternatives& preferences) {
    std::vector<PreferenceSource> all = of_namespace;
    for (PreferenceSource& source : SourcesOf(cluster)) all.push_back(std::move(source));
    auto attempt = [&](const std::vector<PreferenceSource>& sources) {
      preferences.Try(ClusterDifference(Prefer(change_.before, sources)));
    };
    NamespacePreferences given = OfNamespace(change_.before);
    bool gives = given.set || !of_namespace.empty();
    if (!cluster.namespace_precedence || !(gives || given.skipped)) return attempt(all);
    // "A pod to which a PodPlacementConfig gives a preference" does not say whether one counts that
    // was skipped: both are allowed then.
    attempt(of_namespace);
    bool only_skipped = Prefer(change_.before, of_namespace).added.empty() && !given.set;
    if (only_skipped) attempt(all);
  }

  // Its writes always leave the label.
  std::string ClusterDifference(const PreferenceAnswer& answer) {
    if (LabelOf(change_.after, api::kPreferredNodeAffinityLabel).empty())
      return "left the pod without the label preferred-node-affinity";
    return DiffersFrom(answer, change_.before, change_.after);
  }

  void JudgeRequirement(bool refused) {
    const Json& before = change_.before;
    bool decides_again =
        life_.first_decision && LabelOf(before, api::kNodeAffinityLabel) == api::kSet;
    if (!decides_again && RequiresArchitectureItself(before)) {
      if (LabelOf(before, api::kNodeAffinityLabel) == api::kSet)
        return NotJudged("a copy of a placed pod");
      Alternatives requirement;
      requirement.Try(AnswerDifference(RequireNothing(before)));
      if (!requirement.kept()) Report(requirement.Describe());
      CheckErrorCleared();
      CheckTolerations({}, refused);
      return;
    }
    std::vector<PodImage> images = ImagesOf(before);
    for (const PodImage& image : images) {
      if (image.never_pull) return NotJudged("images of nodes");
    }
    if (std::any_of(cluster_configs_.begin(), cluster_configs_.end(),
                    [](const auto* config) { return (*config)->amd64_levels; }))
      return NotJudged("levels of x86-64");
    if (decides_again && !facts_.images_known) return NotJudged("a second decision");
    bool failed = HasLabel(change_.after, api::kInspectErrorLabel);
    if (failed && !decides_again) {
      JudgeFailure(images);
    } else {
      JudgeInspection(images, decides_again, refused);
    }
  }

  std::string AnswerDifference(const RequirementAnswer& answer) {
    return DiffersFrom(answer, change_.before, change_.after);
  }

  void JudgeInspection(const std::vector<PodImage>& images, bool decides_again, bool refused) {
    std::optional<std::set<Common>> commons = CommonDuring(images);
    if (!commons) return NotJudged("many combinations of images");
    std::vector<RequirementAnswer> answers;
    for (const Common& common : *commons) {
      answers.push_back(decides_again ? Narrow(change_.before, life_.own_terms, common)
                                      : Require(change_.before, common));
    }
    // The requirement stays if the registry does not answer. Whether tolerations are added then,
    // the documents do not say.
    bool may_stay = decides_again && MayFail(images);
    if (may_stay) answers.push_back(Narrow(change_.before, life_.own_terms, std::nullopt));
    Alternatives requirement;
    std::set<Architectures> tolerated;
    for (const RequirementAnswer& answer : answers) {
      if (!answer.not_judged.empty()) return NotJudged(answer.not_judged);
      std::string difference = AnswerDifference(answer);
      requirement.Try(difference);
      if (difference.empty()) tolerated.insert(answer.architectures);
    }
    if (may_stay) tolerated.insert(Architectures());
    if (!requirement.kept()) {
      Report(commons->empty() && !may_stay
                 ? "required an architecture, although no inspection can have succeeded"
                 : requirement.Describe());
      return;
    }
    if (!decides_again) CheckErrorCleared();
    CheckTolerations(tolerated, refused);
  }

  void JudgeFailure(const std::vector<PodImage>& images) {
    if (!MayFail(images)) {
      Report("gave up the inspection of images whose registries answered");
      return;
    }
    bool awaits = HasGate(change_.after, api::kClusterGate);
    Alternatives requirement;
    for (const auto* cluster : cluster_configs_) {
      // The fallback architecture is only required with the last gate.
      RequirementAnswer answer =
          RequireFallback(change_.before, awaits ? "" : (*cluster)->fallback);
      if (!answer.not_judged.empty()) return NotJudged(answer.not_judged);
      requirement.Try(AnswerDifference(answer));
    }
    if (!requirement.kept()) Report(requirement.Describe());
    std::string error = AnnotationOf(change_.after, api::kInspectErrorAnnotation);
    if (error.empty() || error.size() > kLongestError)
      Report("released a pod without saying why its images could not be inspected");
    CheckTolerations({}, false);
  }

  // docs/reference.md: the label and the annotation of the last error are removed with a success.
  void CheckErrorCleared() {
    if (HasLabel(change_.after, api::kInspectErrorLabel) ||
        !AnnotationOf(change_.after, api::kInspectErrorAnnotation).empty())
      Report("left the error of an earlier inspection");
  }

  // `tolerated`: the architectures by each allowed answer; none of them: no tolerations.
  void CheckTolerations(std::set<Architectures> tolerated, bool refused) {
    const std::multiset<std::string> added = AddedTolerations(change_.before, change_.after);
    bool last_gate = !IsGated(change_.after) && OtherGates(change_.after).empty();
    if (added.empty() && (refused || !last_gate)) return;
    if (tolerated.empty() || !last_gate) tolerated = {Architectures()};
    Alternatives alternatives;
    for (const Architectures& architectures : tolerated) {
      for (const NamespaceConfigs* all : configs_) {
        InForce in_force = InForceOf(*all);
        if (in_force.unclear) return NotJudged("two configurations of one priority and age");
        NamespaceConfigs selected = SelectedBy(in_force, change_.before);
        auto decides = std::find_if(selected.begin(), selected.end(), [](const auto& config) {
          return config->tolerations.has_value();
        });
        for (const auto* cluster : cluster_configs_) {
          std::vector<std::optional<TolerationPlugin>> plugins;
          if (decides != selected.end()) plugins.push_back((*decides)->tolerations);
          // After a refusal, the shard only removes its gate, and does not record whose apply.
          if (plugins.empty() || ShardWasRefused()) plugins.push_back((*cluster)->tolerations);
          for (const std::optional<TolerationPlugin>& plugin : plugins) {
            std::multiset<std::string> wanted;
            if (plugin) wanted = TolerationsFor(*plugin, change_.before, architectures);
            alternatives.Try(added == wanted ? ""
                                             : "added the tolerations " + ListOf(added) +
                                                   " instead of " + ListOf(wanted));
          }
        }
      }
    }
    if (!alternatives.kept()) Report(alternatives.Describe());
  }

  bool ShardWasRefused() const {
    const std::string& ns = change_.commit.key.ns;
    return facts_.refusals.Between(
        "system:serviceaccount:" + ns + ":" + std::string(api::kShardControllerName),
        change_.commit.key, life_.created, change_.commit.at);
  }

  static std::string ListOf(const std::multiset<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
    return text.empty() ? "none" : text;
  }

  // ---- Images.

  // What the images may have in common by the inspections since the pod was created; nullopt: too
  // many combinations.
  std::optional<std::set<Common>> CommonDuring(const std::vector<PodImage>& images) {
    if (!facts_.images_known) return CommonsRequiredBy(change_.before, change_.after);
    std::vector<std::vector<Image>> chosen = {{}};
    for (const PodImage& image : images) {
      const Timing& timing = facts_.timing;
      Time from = life_.created - (image.always_pull ? Time::zero() : timing.tag_cache);
      std::vector<Image> found =
          facts_.images.Found(image.reference, from, change_.commit.at, timing.stale_images);
      std::vector<std::vector<Image>> next;
      for (const std::vector<Image>& one : chosen) {
        for (const Image& what : found) {
          next.push_back(one);
          // A single manifest in a volume: every node can mount it.
          if (!image.volume || what.index) next.back().push_back(what);
        }
      }
      if (next.size() > kMostCombinations) return std::nullopt;
      chosen = std::move(next);
    }
    std::set<Common> commons;
    for (const std::vector<Image>& one : chosen) commons.insert(CommonOf(one));
    return commons;
  }

  bool MayFail(const std::vector<PodImage>& images) {
    if (!facts_.images_known) return true;
    Time from = change_.commit.at - facts_.timing.inspection_lag;
    bool has_secrets = !kube::ListAt(change_.before, "spec.imagePullSecrets").empty();
    if (has_secrets && facts_.secret_faults.Overlap(from, change_.commit.at)) return true;
    return std::any_of(images.begin(), images.end(), [&](const PodImage& image) {
      return facts_.images.MayFail(image.reference, std::max(from, Time::zero()),
                                   change_.commit.at);
    });
  }

  const PodChange& change_;
  const PodLife& life_;
  const History& history_;
  const Facts& facts_;
  JudgedReleases& judged_;
  Violations& violations_;
  const SharedConfigs configs_;
  const ClusterConfigs cluster_configs_;
};

}  // namespace

void CheckRelease(const PodChange& change, const PodLife& life, const History& history,
                  const Facts& facts, JudgedReleases& judged, Violations& violations) {
  bool decides = change.RemovesGate() || (IsFirstDecision(change) && ChangesPlacement(change));
  if (!change.writer.IsOurs() || !decides) return;
  if (life.first_decision && !change.RemovesGate()) {
    violations.push_back(
        At(change.commit, "I2",
           change.writer.Describe() + " decided the pod again before its last gate"));
  }
  Judge(change, life, history, facts, judged, violations).Run();
}

}  // namespace sim::checker

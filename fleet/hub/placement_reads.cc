// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_reads.h"

#include <algorithm>

#include "fleet/api/properties.h"

namespace fleet {
namespace {

void AddKeys(const kube::meta::LabelSelector& selector, std::set<std::string, std::less<>>& keys) {
  for (const auto& [key, value] : selector.match_labels()) keys.insert(key);
  for (const auto& requirement : selector.match_expressions()) keys.insert(requirement.key());
}

bool Same(const std::set<std::string, std::less<>>& names, const Properties& before,
          const Properties& after) {
  if (before == after) return true;
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return before.Find(name) == after.Find(name);
  });
}

bool Expired(const AddOnPlacementScore& scores, kube::WallTime now) {
  return scores.valid_until && now > *scores.valid_until;
}

}  // namespace

PlacementReads::PlacementReads(const PlacementSpec& spec) {
  for (const ClusterSelector& predicate : spec.predicates) {
    Read(predicate);
    predicates_.push_back({Selector(predicate.labels), Selector(predicate.claims)});
  }
  for (const NamedGroup& group : spec.groups) Read(group.selector);
  for (const SpreadConstraint& constraint : spec.spread)
    (constraint.claim ? claims_ : labels_).insert(constraint.key);
  // With an unknown one the Placement is misconfigured, whatever the clusters are.
  kube::Result<Prioritizers> prioritizers = Prioritizers::Of(spec);
  if (!prioritizers) return;
  for (const Prioritizers::Weighted& active : prioritizers->active) {
    const PrioritizerReads reads = active.prioritizer->reads();
    if (reads.resource != nullptr) resources_.push_back(reads.resource);
    if (!reads.score) continue;
    scores_.emplace(reads.score->resource, reads.score->score);
    score_resources_.insert(reads.score->resource);
  }
}

void PlacementReads::Read(const ClusterSelector& selector) {
  AddKeys(selector.labels, labels_);
  AddKeys(selector.claims, claims_);
  whole_object_ |= !selector.cel.empty();
}

bool PlacementReads::MayMatch(const ManagedCluster& cluster) const {
  return predicates_.empty() ||
         std::any_of(predicates_.begin(), predicates_.end(), [&](const Predicate& predicate) {
           return predicate.labels.Matches(cluster.labels) &&
                  predicate.claims.Matches(cluster.claims);
         });
}

bool PlacementReads::Notices(const ManagedCluster& before, const ManagedCluster& after) const {
  if (!MayMatch(before) && !MayMatch(after)) return false;
  auto differs = [&](auto resource) { return before.*resource != after.*resource; };
  return whole_object_ || before.deleting != after.deleting || before.taints != after.taints ||
         std::any_of(resources_.begin(), resources_.end(), differs) ||
         !Same(labels_, before.labels, after.labels) || !Same(claims_, before.claims, after.claims);
}

bool PlacementReads::Notices(const AddOnPlacementScore* before, const AddOnPlacementScore* after,
                             kube::WallTime now) const {
  const AddOnPlacementScore* any = after == nullptr ? before : after;
  if (any == nullptr) return false;
  // CEL reads no validUntil.
  if (whole_object_ && (before == nullptr || after == nullptr || before->scores != after->scores))
    return true;
  if (!score_resources_.contains(any->name)) return false;
  if (!SameScores(before, after)) return true;
  if (before == nullptr || after == nullptr) return false;
  if (Expired(*before, now) != Expired(*after, now)) return true;
  // It expires earlier than the next pass is planned for.
  return after->valid_until && (!before->valid_until || *after->valid_until < *before->valid_until);
}

bool PlacementReads::SameScores(const AddOnPlacementScore* before,
                                const AddOnPlacementScore* after) const {
  const std::string& resource = (after == nullptr ? before : after)->name;
  auto value = [](const AddOnPlacementScore* scores, const std::string& name) {
    if (scores == nullptr) return std::optional<int32_t>();
    auto found = scores->scores.find(name);
    return found == scores->scores.end() ? std::nullopt : std::optional(found->second);
  };
  return std::all_of(scores_.begin(), scores_.end(), [&](const auto& score) {
    return score.first != resource || value(before, score.second) == value(after, score.second);
  });
}

}  // namespace fleet

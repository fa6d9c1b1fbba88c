// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/predicates.h"

#include <string>
#include <unordered_map>

#include "fleet/scheduling/selectors.h"

namespace fleet {
namespace {

// What of a predicate does not match.
enum Part : char { kMatches, kLabels, kClaims, kCel };

constexpr std::string_view NameOf(char part) {
  switch (part) {
    case kLabels:
      return "labelSelector";
    case kClaims:
      return "claimSelector";
    default:
      return "celSelector";
  }
}

struct Predicate {
  size_t labels;  // indexes in the selectors
  size_t claims;
  const std::vector<std::string>& cel;
};

// Judges the cluster that `selectors` read last. Sets `error` if CEL fails.
Part Judge(const Predicate& predicate, const ManagedCluster& cluster, const Selectors& selectors,
           CelSelectors& cel, std::string& error) {
  if (!selectors.Matches(predicate.labels)) return kLabels;
  if (!selectors.Matches(predicate.claims)) return kClaims;
  if (predicate.cel.empty()) return kMatches;
  CelSelectors::Verdict verdict = cel.Matches(predicate.cel, cluster.name);
  if (verdict.matches) return kMatches;
  if (error.empty()) error = std::move(verdict.error);
  return kCel;
}

// "labelSelector does not match", or for several predicates "no predicate matches: 0
// labelSelector, 1 celSelector".
std::string Describe(const std::string& parts, const std::string& error) {
  constexpr size_t kShown = 5;
  std::string text;
  if (parts.size() == 1) {
    text = std::string(NameOf(parts[0])) + " does not match";
  } else {
    text = "no predicate matches: ";
    for (size_t i = 0; i < parts.size() && i < kShown; ++i)
      text += (i > 0 ? ", " : "") + std::to_string(i) + " " + std::string(NameOf(parts[i]));
    if (parts.size() > kShown) text += " and " + std::to_string(parts.size() - kShown) + " more";
  }
  return error.empty() ? text : text + ": " + error;
}

}  // namespace

Clusters FilterByPredicates(const std::vector<ClusterSelector>& predicates,
                            const Clusters& clusters, CelSelectors& cel, Rejections& rejections) {
  if (predicates.empty()) return clusters;
  Selectors selectors;
  std::vector<Predicate> compiled;
  for (const ClusterSelector& predicate : predicates) {
    const size_t labels = selectors.Add(predicate.labels, Selectors::kLabels);
    const size_t claims = selectors.Add(predicate.claims, Selectors::kClaims);
    compiled.push_back({.labels = labels, .claims = claims, .cel = predicate.cel});
  }
  std::unordered_map<std::string, size_t> reasons;  // by the part that each predicate fails with
  Clusters kept;
  std::string parts;
  for (const ManagedCluster* cluster : clusters) {
    selectors.Read(*cluster);
    parts.clear();
    std::string error;
    Part part = kLabels;
    for (size_t i = 0; i < compiled.size() && part != kMatches; ++i) {
      part = Judge(compiled[i], *cluster, selectors, cel, error);
      parts.push_back(part);
    }
    if (part == kMatches) {
      kept.push_back(cluster);
    } else if (!error.empty()) {
      rejections.Add(*cluster, rejections.ReasonIndex(kPredicate, Describe(parts, error)));
    } else {
      auto [reason, added] = reasons.try_emplace(parts, 0);
      if (added) reason->second = rejections.ReasonIndex(kPredicate, Describe(parts, error));
      rejections.Add(*cluster, reason->second);
    }
  }
  return kept;
}

}  // namespace fleet

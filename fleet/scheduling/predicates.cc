// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/predicates.h"

#include <string>
#include <unordered_map>

#include "fleet/scheduling/selector.h"

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

class Predicate {
 public:
  explicit Predicate(const ClusterSelector& selector)
      : labels_(selector.labels), claims_(selector.claims), cel_(selector.cel) {}

  // Sets `error` if CEL fails.
  Part Judge(const ManagedCluster& cluster, CelSelectors& cel, std::string& error) const {
    if (!labels_.Matches(cluster.labels)) return kLabels;
    if (!claims_.Matches(cluster.claims)) return kClaims;
    if (cel_.empty()) return kMatches;
    CelSelectors::Verdict verdict = cel.Matches(cel_, cluster.name);
    if (verdict.matches) return kMatches;
    if (error.empty()) error = std::move(verdict.error);
    return kCel;
  }

 private:
  Selector labels_;
  Selector claims_;
  const std::vector<std::string>& cel_;
};

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
  const std::vector<Predicate> compiled(predicates.begin(), predicates.end());
  std::unordered_map<std::string, size_t> reasons;  // by the part that each predicate fails with
  Clusters kept;
  std::string parts;
  for (const ManagedCluster* cluster : clusters) {
    parts.clear();
    std::string error;
    Part part = kLabels;
    for (size_t i = 0; i < compiled.size() && part != kMatches; ++i) {
      part = compiled[i].Judge(*cluster, cel, error);
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

// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/spread.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fleet {
namespace {

constexpr int32_t kNoKey = -1;

// A value of one key, below the values of the keys before.
struct Domain {
  size_t first = 0;  // the combinations first..end-1 are in the domain
  size_t end = 0;
  size_t siblings = 0;  // index of its group
  bool keyed = true;    // false: the clusters without the key
  int64_t count = 0;    // picks
  int64_t score = 0;    // 0..63
  bool blocked = false;
};

struct Siblings {
  size_t first = 0;  // the domains first..end-1 of the level
  size_t end = 0;
  int64_t least = 0;
  int64_t greatest = 0;
  size_t at_least = 0;  // keyed domains whose count is `least`
};

struct Level {
  int64_t max_skew = 0;
  bool do_not_schedule = false;
  int shift = 0;  // a score counts 64 times as much as one of the next level
  std::vector<Domain> domains;
  std::vector<Siblings> groups;
  std::vector<size_t> domain_of;  // of each combination
};

// Clusters with the same value of every key.
struct Combination {
  size_t next = 0;  // its best cluster that is not picked, in Picker::order_
  size_t end = 0;
  int64_t value = 0;  // of the scores of all levels
  int blocked = 0;    // number of levels that block it
};

class Picker {
 public:
  Picker(const std::vector<SpreadConstraint>& constraints, int64_t weight, const Clusters& clusters,
         const std::vector<int64_t>& totals, Rejections& rejections)
      : constraints_(constraints),
        weight_(weight),
        clusters_(clusters),
        totals_(totals),
        rejections_(rejections) {
    ReadKeys();
    Combine();
    BuildLevels();
  }

  std::vector<size_t> Pick(size_t number) {
    std::vector<size_t> picked;
    while (picked.size() < number) {
      std::optional<size_t> place = Best();
      if (!place) {
        RejectTheRest();
        break;
      }
      picked.push_back(Take(*place));
    }
    return picked;
  }

 private:
  // Numbers the values of each key; rejects the clusters that lack one they must have.
  void ReadKeys() {
    const size_t depth = constraints_.size();
    keys_.assign(clusters_.size() * depth, kNoKey);
    std::vector<bool> rejected(clusters_.size());
    for (size_t level = 0; level < depth; ++level) {
      const SpreadConstraint& constraint = constraints_[level];
      std::unordered_map<std::string_view, int32_t> values;
      std::optional<size_t> reason;
      for (size_t i = 0; i < clusters_.size(); ++i) {
        const Properties& properties =
            constraint.claim ? clusters_[i]->claims : clusters_[i]->labels;
        if (auto value = properties.Find(constraint.key)) {
          auto entry = values.try_emplace(*value, static_cast<int32_t>(values.size())).first;
          keys_[i * depth + level] = entry->second;
        } else if (constraint.do_not_schedule && !rejected[i]) {
          rejected[i] = true;
          if (!reason) {
            reason = rejections_.ReasonIndex(
                kSpread, (constraint.claim ? "no claim " : "no label ") + constraint.key);
          }
          rejections_.Add(*clusters_[i], *reason);
        }
      }
    }
    for (size_t i = 0; i < clusters_.size(); ++i) {
      if (!rejected[i]) order_.push_back(i);
    }
  }

  const int32_t* KeysOf(size_t cluster) const { return &keys_[cluster * constraints_.size()]; }

  bool SameUpTo(size_t level, size_t a, size_t b) const {
    return std::equal(KeysOf(a), KeysOf(a) + level + 1, KeysOf(b));
  }

  // Better total, then by name: clusters are in the order of their names.
  bool Better(size_t a, size_t b) const {
    return totals_[a] != totals_[b] ? totals_[a] > totals_[b] : a < b;
  }

  // Sorts the candidates so that every domain of every level is a range of combinations.
  void Combine() {
    const size_t depth = constraints_.size();
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      auto [of_a, of_b] = std::mismatch(KeysOf(a), KeysOf(a) + depth, KeysOf(b));
      return of_a == KeysOf(a) + depth ? Better(a, b) : *of_a < *of_b;
    });
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || !SameUpTo(depth - 1, order_[i - 1], order_[i]))
        combinations_.push_back({.next = i});
      combinations_.back().end = i + 1;
    }
    by_rank_.resize(combinations_.size());
    std::iota(by_rank_.begin(), by_rank_.end(), 0);
    std::sort(by_rank_.begin(), by_rank_.end(),
              [&](size_t a, size_t b) { return Better(Head(a), Head(b)); });
  }

  void BuildLevels() {
    const size_t depth = constraints_.size();
    levels_.resize(depth);
    for (size_t i = 0; i < depth; ++i) {
      Level& level = levels_[i];
      level.max_skew = constraints_[i].max_skew;
      level.do_not_schedule = constraints_[i].do_not_schedule;
      constexpr int kBits = 6;
      level.shift = kBits * static_cast<int>(depth - 1 - i);
      for (size_t c = 0; c < combinations_.size(); ++c) {
        const bool new_group = c == 0 || (i > 0 && !SameUpTo(i - 1, Head(c - 1), Head(c)));
        if (new_group) level.groups.push_back({.first = level.domains.size()});
        if (new_group || !SameUpTo(i, Head(c - 1), Head(c))) {
          const bool keyed = KeysOf(Head(c))[i] != kNoKey;
          level.domains.push_back(
              {.first = c, .siblings = level.groups.size() - 1, .keyed = keyed});
          if (keyed) ++level.groups.back().at_least;
        }
        level.groups.back().end = level.domains.size();
        level.domains.back().end = c + 1;
        level.domain_of.push_back(level.domains.size() - 1);
      }
    }
  }

  // The best cluster of a combination, which has one left.
  size_t Head(size_t combination) const { return order_[combinations_[combination].next]; }

  // The place in by_rank_ of the combination to pick from; nullopt if all are blocked or empty.
  std::optional<size_t> Best() const {
    int64_t low = 0;
    int64_t high = 0;
    bool any = false;
    for (size_t c : by_rank_) {
      const Combination& combination = combinations_[c];
      if (combination.blocked > 0 || weight_ == 0) continue;
      low = any ? std::min(low, combination.value) : combination.value;
      high = any ? std::max(high, combination.value) : combination.value;
      any = true;
    }
    const bool even = low == high;
    constexpr int64_t kMaxSpread = 100;
    const int64_t most = even ? 0 : std::abs(weight_) * kMaxSpread;

    std::optional<size_t> best;
    int64_t best_score = 0;
    size_t best_cluster = 0;
    for (size_t place = 0; place < by_rank_.size(); ++place) {
      const Combination& combination = combinations_[by_rank_[place]];
      if (combination.blocked > 0) continue;
      const size_t cluster = order_[combination.next];
      // Those that follow have a lower total, or the same and a later name.
      const int64_t bound = totals_[cluster] + most;
      if (best && (bound < best_score || (bound == best_score && cluster > best_cluster))) break;
      const int64_t spread = even ? 0 : SpreadScore(combination.value, low, high);
      const int64_t score = weight_ * spread + totals_[cluster];
      if (!best || score > best_score || (score == best_score && cluster < best_cluster)) {
        best = place;
        best_score = score;
        best_cluster = cluster;
      }
    }
    return best;
  }

  // -100..100. In double, as the specification has it.
  static int64_t SpreadScore(int64_t value, int64_t low, int64_t high) {
    double share = 200.0 * static_cast<double>(value - low) / static_cast<double>(high - low);
    return static_cast<int64_t>(share - 100.0);
  }

  size_t Take(size_t place) {
    const size_t c = by_rank_[place];
    const size_t cluster = Head(c);
    ++combinations_[c].next;
    auto at = by_rank_.begin() + static_cast<std::ptrdiff_t>(place);
    if (combinations_[c].next == combinations_[c].end) {
      by_rank_.erase(at);
    } else {
      // Its next cluster is worse: later in the order.
      auto to = std::lower_bound(at + 1, by_rank_.end(), c,
                                 [&](size_t a, size_t b) { return Better(Head(a), Head(b)); });
      std::rotate(at, at + 1, to);
    }
    for (Level& level : levels_) Count(level, level.domains[level.domain_of[c]]);
    return cluster;
  }

  void Count(Level& level, Domain& domain) {
    if (!domain.keyed) return;
    Siblings& group = level.groups[domain.siblings];
    const int64_t least = group.least;
    const int64_t greatest = group.greatest;
    ++domain.count;
    group.greatest = std::max(greatest, domain.count);
    if (domain.count == least + 1 && --group.at_least == 0) {
      // All are above: counts grow by one, so this domain has the new least count.
      ++group.least;
      for (size_t d = group.first; d < group.end; ++d) {
        const Domain& sibling = level.domains[d];
        if (sibling.keyed && sibling.count == group.least) ++group.at_least;
      }
    }
    if (group.least == least && group.greatest == greatest) {
      Update(level, group, domain);
      return;
    }
    for (size_t d = group.first; d < group.end; ++d) Update(level, group, level.domains[d]);
  }

  void Update(const Level& level, const Siblings& group, Domain& domain) {
    if (!domain.keyed) return;
    constexpr int64_t kBest = 63;
    const int64_t range = group.greatest - group.least;
    const int64_t score = range == 0 ? 0 : kBest * (group.greatest - domain.count) / range;
    // With one more pick, the domain itself may be the one with the least count: it is then no
    // further than 1 from the others, and no skew is below 1.
    const bool blocked = level.do_not_schedule && domain.count + 1 - group.least > level.max_skew;
    if (score == domain.score && blocked == domain.blocked) return;
    const int64_t change = (score - domain.score) * (int64_t{1} << level.shift);
    const int more = static_cast<int>(blocked) - static_cast<int>(domain.blocked);
    for (size_t c = domain.first; c < domain.end; ++c) {
      combinations_[c].value += change;
      combinations_[c].blocked += more;
    }
    domain.score = score;
    domain.blocked = blocked;
  }

  // Every combination that has clusters left is blocked.
  void RejectTheRest() {
    for (size_t c : by_rank_) {
      size_t level = 0;
      while (!levels_[level].domains[levels_[level].domain_of[c]].blocked) ++level;
      const SpreadConstraint& constraint = constraints_[level];
      const std::string why = "one more would exceed maxSkew " +
                              std::to_string(constraint.max_skew) + " of " + constraint.key;
      const size_t reason = rejections_.ReasonIndex(kSpread, why);
      for (size_t i = combinations_[c].next; i < combinations_[c].end; ++i)
        rejections_.Add(*clusters_[order_[i]], reason);
    }
  }

  const std::vector<SpreadConstraint>& constraints_;
  const int64_t weight_;
  const Clusters& clusters_;
  const std::vector<int64_t>& totals_;
  Rejections& rejections_;

  std::vector<int32_t> keys_;  // of each cluster: the number of its value of each key
  std::vector<size_t> order_;  // candidates by keys, then by total and name
  std::vector<Combination> combinations_;
  std::vector<size_t> by_rank_;  // combinations with clusters left, by their best cluster
  std::vector<Level> levels_;
};

}  // namespace

std::vector<size_t> PickBest(const std::vector<int64_t>& totals, size_t number) {
  std::vector<size_t> order(totals.size());
  std::iota(order.begin(), order.end(), 0);
  number = std::min(number, order.size());
  auto end = order.begin() + static_cast<std::ptrdiff_t>(number);
  std::partial_sort(order.begin(), end, order.end(), [&](size_t a, size_t b) {
    return totals[a] != totals[b] ? totals[a] > totals[b] : a < b;
  });
  order.resize(number);
  return order;
}

std::vector<size_t> PickSpread(const std::vector<SpreadConstraint>& constraints, int64_t weight,
                               const Clusters& clusters, const std::vector<int64_t>& totals,
                               size_t number, Rejections& rejections) {
  if (constraints.empty()) return PickBest(totals, number);
  return Picker(constraints, weight, clusters, totals, rejections).Pick(number);
}

}  // namespace fleet

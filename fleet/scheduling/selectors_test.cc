// SPDX-License-Identifier: Apache-2.0
// Selector and Selectors against placement::Matches(), which has the API server's rules.
#include "fleet/scheduling/selectors.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "fleet/scheduling/selector.h"
#include "placement/selector.h"

namespace fleet {
namespace {

using kube::meta::LabelSelector;

class Generator {
 public:
  LabelSelector Selector() {
    LabelSelector selector;
    for (size_t i = Below(3); i > 0; --i) (*selector.mutable_match_labels())[Key()] = Value();
    for (size_t i = Below(3); i > 0; --i) {
      static constexpr const char* kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
      auto& expression = *selector.add_match_expressions();
      expression.set_key(Key());
      expression.set_operator_(kOperators[Below(4)]);
      for (size_t v = Below(4); v > 0; --v) expression.add_values(Value());
    }
    return selector;
  }
  std::map<std::string, std::string> Labels() {
    std::map<std::string, std::string> labels;
    for (size_t i = Below(9); i > 0; --i) labels[Key()] = Value();
    return labels;
  }
  size_t Below(size_t end) { return random_() % end; }

 private:
  std::string Key() { return std::string(1, static_cast<char>('a' + Below(6))); }
  std::string Value() { return Below(4) == 0 ? "" : std::to_string(Below(3)); }

  std::mt19937 random_{14};
};

bool Expected(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  placement::Labels map(labels.begin(), labels.end());
  return placement::Matches(selector, map).value();
}

TEST(SelectorsTest, RandomSelectors) {
  Generator random;
  int matches = 0;
  for (int round = 0; round < 500; ++round) {
    // Few keys and many: they are looked up in two ways.
    std::vector<LabelSelector> all;
    Selectors selectors;
    for (size_t i = 0; i <= random.Below(6); ++i) {
      all.push_back(random.Selector());
      ASSERT_EQ(selectors.Add(all.back(), Selectors::kLabels), 2 * i);
      ASSERT_EQ(selectors.Add(all.back(), Selectors::kClaims), 2 * i + 1);
    }
    for (int c = 0; c < 10; ++c) {
      const auto labels = random.Labels();
      const auto claims = random.Labels();
      ManagedCluster cluster;
      cluster.labels = Properties(labels);
      cluster.claims = Properties(claims);
      selectors.Read(cluster);
      for (size_t i = 0; i < all.size(); ++i) {
        const std::string text = "round " + std::to_string(round);
        EXPECT_EQ(Selector(all[i]).Matches(cluster.labels), Expected(all[i], labels)) << text;
        EXPECT_EQ(selectors.Matches(2 * i), Expected(all[i], labels)) << text;
        EXPECT_EQ(selectors.Matches(2 * i + 1), Expected(all[i], claims)) << text;
        matches += selectors.Matches(2 * i) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(matches, 1000);
}

TEST(SelectorsTest, AnUnknownOperatorMatchesNothing) {
  LabelSelector selector;
  selector.add_match_expressions()->set_operator_("Like");
  Selectors selectors;
  selectors.Add(selector, Selectors::kLabels);
  selectors.Read({});
  EXPECT_FALSE(selectors.Matches(0));
  EXPECT_FALSE(Selector(selector).Matches({}));
}

}  // namespace
}  // namespace fleet

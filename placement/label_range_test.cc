// SPDX-License-Identifier: Apache-2.0
#include "placement/label_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace placement {
namespace {

using Strings = std::vector<std::string>;
using Expressions = std::vector<std::pair<std::string, Strings>>;

LabelRange Range(const Expressions& expressions) {
  LabelRange range;
  for (const auto& [op, values] : expressions) range.Restrict(op, values);
  return range;
}

// The numbers `from` to `to`, without the latter.
Strings Numbers(size_t from, size_t to) {
  Strings numbers;
  for (size_t i = from; i < to; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

TEST(LabelRangeTest, ExpressionsRestrictIt) {
  struct Row {
    Expressions expressions;
    const char* range;
  };
  const Row rows[] = {
      {{}, "any"},
      {{{"In", {"b", "a"}}}, "a, b"},
      {{{"In", {"a"}}, {"In", {"b"}}}, "none"},
      {{{"In", {"a", "b"}}, {"In", {"b", "c"}}}, "b"},
      {{{"In", {}}}, "none"},
      {{{"NotIn", {"a"}}}, "any but a"},
      {{{"NotIn", {"a"}}, {"NotIn", {"b"}}}, "any but a, b"},
      {{{"NotIn", {"a"}}, {"In", {"a", "b"}}}, "b"},
      {{{"In", {"a", "b"}}, {"NotIn", {"a"}}}, "b"},
      {{{"NotIn", {}}}, "any"},
      {{{"Exists", {}}}, "any"},
      {{{"Exists", {}}, {"NotIn", {"a"}}}, "any but a"},
      {{{"Exists", {}}, {"In", {"a"}}}, "a"},
      {{{"DoesNotExist", {}}}, "none"},
      {{{"DoesNotExist", {}}, {"Exists", {}}}, "none"},
      {{{"In", {"a"}}, {"DoesNotExist", {}}}, "none"},
      {{{"Gt", {"3"}}}, "any"},
      {{{"In", {"a"}}, {"Lt", {"3"}}}, "a"},
      {{{"SomeNewOperator", {"a"}}}, "any"},
      {{{"In", Numbers(1, 10)}}, "1, 2, 3, 4, 5, 6, 7, 8 and 1 more"},
  };
  for (const Row& row : rows) EXPECT_EQ(Range(row.expressions).ToString(), row.range);
}

TEST(LabelRangeTest, ANodeWithoutTheLabelSatisfiesSomeExpressions) {
  const LabelRange absent = Range({{"In", {""}}});
  EXPECT_TRUE(absent.Overlaps(Range({})));
  EXPECT_TRUE(absent.Overlaps(Range({{"NotIn", {"a"}}})));
  EXPECT_TRUE(absent.Overlaps(Range({{"DoesNotExist", {}}})));
  EXPECT_FALSE(absent.Overlaps(Range({{"Exists", {}}})));
  EXPECT_FALSE(absent.Overlaps(Range({{"In", {"a"}}})));
  EXPECT_FALSE(absent.Overlaps(Range({{"Exists", {}}, {"NotIn", {"a"}}})));
}

TEST(LabelRangeTest, RangesOverlapIfAValueIsInBoth) {
  struct Row {
    Expressions one;
    Expressions other;
    bool overlap;
  };
  const Row rows[] = {
      {{}, {}, true},
      {{{"In", {"a"}}}, {}, true},
      {{{"In", {"a"}}}, {{"In", {"a", "b"}}}, true},
      {{{"In", {"a"}}}, {{"In", {"b"}}}, false},
      {{{"In", {"a"}}}, {{"NotIn", {"b"}}}, true},
      {{{"In", {"a"}}}, {{"NotIn", {"a"}}}, false},
      {{{"In", {"a", "b"}}}, {{"NotIn", {"a"}}}, true},
      {{{"NotIn", {"a"}}}, {{"NotIn", {"b"}}}, true},
      {{{"In", {}}}, {}, false},
  };
  for (const Row& row : rows) {
    LabelRange one = Range(row.one);
    LabelRange other = Range(row.other);
    EXPECT_EQ(one.Overlaps(other), row.overlap) << one.ToString() << "; " << other.ToString();
    EXPECT_EQ(other.Overlaps(one), row.overlap) << one.ToString() << "; " << other.ToString();
  }
}

TEST(LabelRangeTest, EveryValueIsNotARestriction) {
  EXPECT_TRUE(Range({}).IsEvery());
  EXPECT_TRUE(Range({{"Exists", {}}}).IsEvery());
  EXPECT_FALSE(Range({{"NotIn", {"a"}}}).IsEvery());
  EXPECT_FALSE(Range({{"In", {"a"}}}).IsEvery());
  EXPECT_FALSE(Range({{"DoesNotExist", {}}}).IsEvery());
}

TEST(LabelRangeTest, AContradictionIsNone) {
  EXPECT_TRUE(Range({{"In", {"a"}}, {"In", {"b"}}}).IsNone());
  EXPECT_TRUE(Range({{"DoesNotExist", {}}, {"Exists", {}}}).IsNone());
  EXPECT_FALSE(Range({{"DoesNotExist", {}}}).IsNone());
  EXPECT_FALSE(Range({{"NotIn", {"a"}}}).IsNone());
  EXPECT_FALSE(Range({}).IsNone());
}

// Beyond the limits it is wider than the expressions say, never narrower.
TEST(LabelRangeTest, ItsValuesAreLimited) {
  EXPECT_EQ(Range({{"In", Numbers(0, kMaxLabelValues)}}).size(), kMaxLabelValues);
  EXPECT_TRUE(Range({{"In", Numbers(0, kMaxLabelValues + 1)}}).IsEvery());

  LabelRange excluded = Range({{"NotIn", Numbers(0, kMaxLabelValues)}});
  EXPECT_EQ(excluded.size(), kMaxLabelValues);
  excluded.Restrict("NotIn", {"one more"});
  EXPECT_EQ(excluded.size(), kMaxLabelValues);
  EXPECT_TRUE(excluded.Overlaps(Range({{"In", {"one more"}}})));
  EXPECT_FALSE(excluded.Overlaps(Range({{"In", {"0"}}})));

  EXPECT_EQ(Range({{"In", {std::string(63, 'x')}}}).size(), 1u);
  EXPECT_TRUE(Range({{"In", {"a", std::string(64, 'x')}}}).IsEvery());
}

}  // namespace
}  // namespace placement

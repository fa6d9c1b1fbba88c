// SPDX-License-Identifier: Apache-2.0
// LabelRange: the values that a label of nodes may have, by expressions on it: some values, or all
// but some. A node without the label counts as one with the value "".
//
//   LabelRange range;                          // every value
//   range.Restrict("In", {"amd64", "arm64"});
//   range.Restrict("NotIn", {"amd64"});
//   range.ToString()                           // "arm64"
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace placement {

// That a range keeps one by one.
inline constexpr size_t kMaxLabelValues = 32;

class LabelRange {
 public:
  // Keeps the values that satisfy the expression. All of them if its operator is not known or
  // compares numbers, if it has a value that is too long for a label, or if that takes more than
  // kMaxLabelValues: the range is never too small.
  void Restrict(std::string_view op, const std::vector<std::string>& values);

  // Whether a node with the label may have any value.
  bool IsEvery() const;
  // Whether no node satisfies the expressions.
  bool IsNone() const { return !all_but_ && values_.empty(); }
  // Whether a value is in both.
  bool Overlaps(const LabelRange& other) const;
  // The number of values that are kept one by one.
  size_t size() const { return values_.size(); }
  // "amd64, arm64"; "any but amd64"; "none". At most eight of them.
  std::string ToString() const;

  auto operator<=>(const LabelRange&) const = default;

 private:
  // The range has all values but `values_`; otherwise these alone.
  bool all_but_ = true;
  std::set<std::string> values_;
};

}  // namespace placement

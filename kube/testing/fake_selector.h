// SPDX-License-Identifier: Apache-2.0
// Selectors of labels and fields, as text.
#pragma once

#include <google/protobuf/map.h>

#include <string>
#include <string_view>
#include <vector>

namespace kube {

// Splits "a=b,c in (d,e)" at the commas outside of parentheses.
std::vector<std::string_view> SplitSelector(std::string_view selector);

struct SelectorTerm {
  std::string key;
  bool negated = false;
  std::string value;
};

// "a=b", "a==b" or "a!=b"; false for anything else.
bool ParseEquality(std::string_view text, SelectorTerm& term);

// One term of a label selector: an equality, "a in (b,c)", "a notin (b,c)", "a" or "!a".
bool MatchesLabel(const google::protobuf::Map<std::string, std::string>& labels,
                  std::string_view text);

}  // namespace kube

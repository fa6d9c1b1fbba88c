// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/promql.h"

#include <cctype>
#include <regex>

namespace e2e {

std::set<std::string> MetricsIn(std::string expression) {
  // In this order: texts, matchers, ranges and lists of labels.
  for (const char* part : {R"("(\\.|[^"\\])*")", R"(\{[^}]*\})", R"(\[[^\]]*\])",
                           R"(\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\))"})
    expression = std::regex_replace(expression, std::regex(part), " ");
  static const std::set<std::string> kOperators = {"and", "or", "unless", "bool", "offset"};
  // A function is followed by a parenthesis; a number, and the unit after it, begins with a digit.
  static const std::regex kWord(R"([A-Za-z0-9_:]+(?!\w)(?!\s*\())");
  std::set<std::string> names;
  for (std::sregex_iterator word(expression.begin(), expression.end(), kWord), end; word != end;
       ++word) {
    std::string name = word->str();
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0 && !kOperators.contains(name))
      names.insert(name);
  }
  return names;
}

}  // namespace e2e

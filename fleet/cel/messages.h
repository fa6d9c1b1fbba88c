// SPDX-License-Identifier: Apache-2.0
// The messages between the hub and its evaluator (evaluator/messages.go), as JSON. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/base/error.h"

namespace fleet::cel {

// One entry of an AddOnPlacementScore.
struct Score {
  std::string name;
  int64_t value = 0;
};

// A selector matches a cluster if all of its expressions are true.
using Selector = std::vector<std::string>;

struct Limits {
  // In cel-go's units: about one for each function call, or for ten bytes that are read.
  uint64_t expression_cost = 1'000'000;
  // The sum over the expressions of a selector.
  uint64_t selector_cost = 10'000'000;
  // CPU time for a selector. Checked in macros, such as exists().
  int64_t cpu_milliseconds = 100;
};

// A text that compiles, and what it reads besides the ManagedCluster.
struct Expression {
  std::vector<std::string> scores;  // literal names in calls of scores(), sorted
  bool any_scores = false;          // a name is computed: scores() may read any
};

// The error: at most kMaxErrorBytes, on one line, valid UTF-8.
inline constexpr size_t kMaxErrorBytes = 1024;

// The answer to CompileRequest().
struct Compiled {
  std::string error;  // why the text is no expression, or ""
  Expression expression;
};

// The answer to EvaluateRequest(), for one selector.
struct Evaluated {
  bool match = false;
  std::string error;  // why there is no result, or ""
  std::chrono::microseconds cpu{0};
};

// The evaluator needs the scores of the AddOnPlacementScore with this name to continue.
struct ScoresQuestion {
  std::string name;
};

// The answer to EvaluateRequest(), or a question before it.
using EvaluateReply = std::variant<std::vector<Evaluated>, ScoresQuestion>;

// Bytes that are not UTF-8 become U+FFFD.
std::string CompileRequest(std::string_view text);
std::string EvaluateRequest(std::span<const Selector> selectors, const Limits& limits);
std::string ScoresReply(const kube::Result<std::vector<Score>>& scores);

// Errors of both: kInvalid for what the evaluator never says.
kube::Result<Compiled> ParseCompiled(std::string_view frame);
kube::Result<EvaluateReply> ParseEvaluateReply(std::string_view frame);

}  // namespace fleet::cel

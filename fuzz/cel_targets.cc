// SPDX-License-Identifier: Apache-2.0
#include <glog/logging.h>

#include <algorithm>

#include "fleet/cel/evaluator.h"
#include "fleet/cel/messages.h"
#include "fleet/cel/testing/blocking_evaluator.h"
#include "fuzz/fuzz_targets.h"
#include "kube/base/clock.h"

namespace fuzz {
namespace {

using fleet::cel::BlockingEvaluator;
using fleet::cel::Verdict;
using kube::Result;

class SomeScores final : public fleet::cel::ScoreReader {
 public:
  Result<std::vector<fleet::cel::Score>> Scores(std::string_view name) override {
    return std::vector<fleet::cel::Score>{{std::string(name), 1}};
  }
};

// What conditions and the debug answer show.
void CheckText(const std::string& text) {
  CHECK_LE(text.size(), 2 * fleet::cel::kMaxErrorBytes);
  CHECK(std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; })) << text;
}

// An expression, an empty line and a ManagedCluster; also an answer of the evaluator.
void FuzzCel(const std::string& input) {
  Result<fleet::cel::Compiled> compiled = fleet::cel::ParseCompiled(input);
  if (compiled) CheckText(compiled->error);
  Result<fleet::cel::EvaluateReply> reply = fleet::cel::ParseEvaluateReply(input);
  using Evaluations = std::vector<fleet::cel::Evaluated>;
  if (reply && std::holds_alternative<Evaluations>(*reply)) {
    for (const fleet::cel::Evaluated& one : std::get<Evaluations>(*reply)) CheckText(one.error);
  }

  static auto& evaluator =
      *new BlockingEvaluator(kube::RealClock(), {.program = "fleet/cel/evaluator/evaluator"});
  static auto& scores = *new SomeScores;
  size_t end = std::min(input.find("\n\n"), input.size());
  std::string text = input.substr(0, end);
  std::string cluster = end < input.size() ? input.substr(end + 2) : "{}";
  Result<fleet::cel::Expression> expression = evaluator.Compile(text);
  if (!expression) CheckText(expression.error().message());
  fleet::cel::Selector selector{text};
  Verdict verdict = evaluator.Match({&selector, 1}, cluster, scores)[0];
  CheckText(verdict.why);
  CHECK_EQ(verdict.why.empty(), verdict.outcome == Verdict::Outcome::kMatch ||
                                    verdict.outcome == Verdict::Outcome::kNoMatch);
  CHECK(expression || verdict.why.size() > 0) << text;
}

}  // namespace

std::vector<FuzzTarget> CelTargets() { return {{"cel", FuzzCel}}; }

}  // namespace fuzz

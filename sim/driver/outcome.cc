// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/outcome.h"

namespace sim {

using kube::Json;

Json OutcomeToJson(const Outcome& outcome) {
  Json violations = Json::array();
  for (const checker::Violation& one : outcome.violations)
    violations.push_back({{"rule", one.rule},
                          {"object", one.object},
                          {"text", one.text},
                          {"commit", one.commit},
                          {"at", one.at.count()}});
  return {{"violations", std::move(violations)},
          {"hash", outcome.hash},
          {"virtualSeconds", outcome.virtual_seconds},
          {"commits", outcome.commits},
          {"handlers", outcome.handlers},
          {"operations", outcome.operations},
          {"accepted", outcome.accepted},
          {"refused", outcome.refused},
          {"judged", outcome.judged},
          {"bare", outcome.bare},
          {"atCreation", outcome.at_creation},
          {"notJudged", outcome.not_judged}};
}

Outcome OutcomeFromJson(const Json& json) {
  Outcome outcome{.hash = json["hash"],
                  .virtual_seconds = json["virtualSeconds"],
                  .commits = json["commits"],
                  .handlers = json["handlers"],
                  .operations = json["operations"],
                  .accepted = json["accepted"],
                  .refused = json["refused"],
                  .judged = json["judged"],
                  .bare = json["bare"],
                  .at_creation = json["atCreation"],
                  .not_judged = json["notJudged"]};
  for (const Json& one : json["violations"])
    outcome.violations.push_back({one["rule"], one["object"], one["text"], one["commit"],
                                  checker::Time(one["at"].get<int64_t>())});
  return outcome;
}

void Add(const Outcome& one, Outcome& sum) {
  sum.violations.insert(sum.violations.end(), one.violations.begin(), one.violations.end());
  sum.virtual_seconds += one.virtual_seconds;
  sum.commits += one.commits;
  sum.handlers += one.handlers;
  for (const auto& [name, count] : one.operations) sum.operations[name] += count;
  sum.accepted += one.accepted;
  sum.refused += one.refused;
  sum.judged += one.judged;
  sum.bare += one.bare;
  sum.at_creation += one.at_creation;
  for (const auto& [reason, count] : one.not_judged) sum.not_judged[reason] += count;
}

}  // namespace sim

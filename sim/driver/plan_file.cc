// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/plan_file.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "kube/client/read_file.h"
#include "sim/driver/operations.h"

namespace sim {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;
using std::chrono::milliseconds;

// A day of virtual time.
constexpr double kMostSeconds = 86'400;

Json SecondsOf(kube::Duration time) {
  const auto whole = std::chrono::duration_cast<milliseconds>(time).count();
  if (whole % 1000 == 0) return whole / 1000;
  return static_cast<double>(whole) / 1000;
}

Result<kube::Duration> DurationIn(const Json& seconds) {
  const double number = seconds.is_number() ? seconds.get<double>() : -1;
  if (!(number >= 0 && number <= kMostSeconds))
    return Error::Invalid("is not a number of seconds, at most a day");
  return kube::Duration(milliseconds(std::llround(number * 1000)));
}

// Takes the member out of `object`. Errors: kInvalid if it is missing.
Result<Json> Take(Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) return Error::Invalid(std::string("has no member ") + name);
  Json member = std::move(*found);
  object.erase(found);
  return member;
}

Result<Step> ParseStep(Json json) {
  if (!json.is_object()) return Error::Invalid("is not an object");
  Result<Json> at = Take(json, "at");
  if (!at) return at.error();
  Result<Json> operation = Take(json, "do");
  if (!operation) return operation.error();
  if (!operation->is_string()) return Error::Invalid("do: is not text");
  Step step{.operation = operation->get<std::string>(), .with = std::move(json)};
  Result<kube::Duration> time = DurationIn(*at);
  if (!time) return time.error().Prefix("at");
  step.at = *time;
  Result<void> checked = CheckParameters(step.operation, step.with);
  if (!checked) return checked.error();
  return step;
}

Result<Plan> ParseObject(Json json) {
  Plan plan;
  Result<Json> seed = Take(json, "seed");
  if (!seed) return seed.error();
  if (!seed->is_number_unsigned()) return Error::Invalid("seed: is not a whole number");
  plan.seed = seed->get<uint64_t>();
  Result<Json> operators = Take(json, "operators");
  if (!operators) return operators.error();
  if (!operators->is_number_unsigned() || *operators < 1 || *operators > 3)
    return Error::Invalid("operators: is not 1, 2 or 3");
  plan.operators = operators->get<int>();
  Result<Json> seconds = Take(json, "seconds");
  if (!seconds) return seconds.error();
  Result<kube::Duration> length = DurationIn(*seconds);
  if (!length) return length.error().Prefix("seconds");
  plan.length = *length;
  Result<Json> steps = Take(json, "steps");
  if (!steps) return steps.error();
  if (!steps->is_array()) return Error::Invalid("steps: is not a list");
  if (!json.empty()) return Error::Invalid("unknown member " + json.begin().key());
  for (Json& one : *steps) {
    const std::string where = "step " + std::to_string(plan.steps.size());
    Result<Step> step = ParseStep(std::move(one));
    if (!step) return step.error().Prefix(where);
    if (!plan.steps.empty() && step->at < plan.steps.back().at)
      return Error::Invalid(where + ": is before the one that precedes it");
    if (step->at > plan.length) return Error::Invalid(where + ": is after the end");
    plan.steps.push_back(std::move(*step));
  }
  return plan;
}

}  // namespace

std::string FormatPlan(const Plan& plan) {
  std::string text = "{\"seed\": " + std::to_string(plan.seed) +
                     ", \"operators\": " + std::to_string(plan.operators) +
                     ", \"seconds\": " + kube::DumpJson(SecondsOf(plan.length)) + ", \"steps\": [";
  for (const Step& step : plan.steps) {
    Json json = step.with;
    json["at"] = SecondsOf(step.at);
    json["do"] = step.operation;
    text += (&step == &plan.steps.front() ? "\n  " : ",\n  ") + kube::DumpJson(json);
  }
  return text + "\n]}\n";
}

Result<Plan> ParsePlan(std::string_view text) {
  Result<Json> json = kube::ParseJson(text);
  if (!json) return json.error().Prefix("plan");
  if (!json->is_object()) return Error::Invalid("plan: is not an object");
  Result<Plan> plan = ParseObject(std::move(*json));
  if (!plan) return plan.error().Prefix("plan");
  return plan;
}

Result<Plan> ReadPlan(const std::string& file) {
  Result<std::string> text = kube::ReadFile(file);
  if (!text) return text.error();
  Result<Plan> plan = ParsePlan(*text);
  if (!plan) return plan.error().Prefix(file);
  return plan;
}

}  // namespace sim

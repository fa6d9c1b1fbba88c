// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/operations.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

bool IsAllowed(const Parameter& parameter, const Json& value) {
  const auto& allowed = parameter.allowed;
  return value.is_string() &&
         (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end());
}

bool IsOfKind(const Parameter& parameter, const Json& value) {
  switch (parameter.kind) {
    case Parameter::kText:
      return IsAllowed(parameter, value);
    case Parameter::kNumber:
      return value.is_number() && value >= 0 && value <= 1'000'000;
    case Parameter::kYesNo:
      return value.is_boolean();
    case Parameter::kTexts:
      return value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& one) {
               return IsAllowed(parameter, one);
             });
    case Parameter::kObject:
      return value.is_object();
  }
  return false;
}

const char* Describe(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::kText:
      return "text";
    case Parameter::kNumber:
      return "a number from 0 to 1000000";
    case Parameter::kYesNo:
      return "true or false";
    case Parameter::kTexts:
      return "a list of texts";
    case Parameter::kObject:
      return "an object";
  }
  return "";
}

std::string Expected(const Parameter& parameter) {
  std::string text = Describe(parameter.kind);
  for (const std::string& value : parameter.allowed)
    text += (value == parameter.allowed.front() ? " of " : ", ") + value;
  return text;
}

}  // namespace

const std::vector<Operation>& Operations() {
  static const auto& all = *new std::vector<Operation>([] {
    std::vector<Operation> operations = PodOperations();
    for (Operation& one : ConfigOperations()) operations.push_back(std::move(one));
    for (Operation& one : FaultOperations()) operations.push_back(std::move(one));
    return operations;
  }());
  return all;
}

const Operation* FindOperation(std::string_view name) {
  for (const Operation& operation : Operations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

Result<void> CheckParameters(std::string_view name, const Json& with) {
  const Operation* operation = FindOperation(name);
  if (operation == nullptr) return Error::Invalid("unknown operation " + std::string(name));
  auto invalid = [&](const std::string& text) {
    return Error::Invalid(std::string(name) + ": " + text);
  };
  for (const Parameter& parameter : operation->parameters) {
    if (!with.contains(parameter.name)) return invalid("has no member " + parameter.name);
    if (!IsOfKind(parameter, with[parameter.name]))
      return invalid(parameter.name + ": is not " + Expected(parameter));
  }
  for (const auto& item : with.items()) {
    auto is_item = [&](const Parameter& parameter) { return parameter.name == item.key(); };
    if (std::none_of(operation->parameters.begin(), operation->parameters.end(), is_item))
      return invalid("unknown member " + item.key());
  }
  return kube::Ok();
}

}  // namespace sim

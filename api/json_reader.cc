// SPDX-License-Identifier: Apache-2.0
#include "api/json_reader.h"

#include <algorithm>

#include "kube/base/join.h"

namespace api {

using kube::Json;

void AddProblem(FieldErrors& problems, std::string field, std::string message) {
  constexpr size_t kMaxProblems = 20;
  if (problems.size() < kMaxProblems) problems.push_back({std::move(field), std::move(message)});
}

JsonReader::JsonReader(const Json& object, std::string path, FieldErrors& problems)
    : object_(object), path_(std::move(path)), problems_(problems) {
  if (!object_.is_object()) AddProblem(problems_, path_, "must be an object");
}

std::string JsonReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void JsonReader::Problem(std::string_view name, std::string message) {
  AddProblem(problems_, PathOf(name), std::move(message));
}

const Json* JsonReader::Value(std::string_view name, Presence presence) {
  if (object_.is_object()) {
    auto found = object_.find(std::string(name));
    if (found != object_.end() && !found->is_null()) return &*found;
    if (presence == kRequired) Problem(name, "is required");
  }
  return nullptr;
}

int64_t JsonReader::Int(std::string_view name, IntField field) {
  const Json* value = Value(name, field.presence);
  if (value == nullptr) return field.fallback;
  // nlohmann keeps large positive numbers as unsigned: compare before converting.
  bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  int64_t number = fits ? value->get<int64_t>() : 0;
  if (!fits || number < field.range.low || number > field.range.high) {
    Problem(name, "must be an integer from " + std::to_string(field.range.low) + " to " +
                      std::to_string(field.range.high));
    return field.fallback;
  }
  return number;
}

bool JsonReader::Bool(std::string_view name, bool fallback, Presence presence) {
  const Json* value = Value(name, presence);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    Problem(name, "must be true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string JsonReader::String(std::string_view name, Presence presence) {
  const Json* value = Value(name, presence);
  if (value == nullptr) return "";
  if (!value->is_string()) {
    Problem(name, "must be a string");
    return "";
  }
  return value->get<std::string>();
}

std::string JsonReader::Enum(std::string_view name, std::span<const std::string_view> allowed,
                             Presence presence) {
  size_t before = problems_.size();
  std::string text = String(name, presence);
  if (problems_.size() != before || (text.empty() && Value(name, kOptional) == nullptr)) return "";
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return text;
  Problem(name, "must be one of " + kube::Join(allowed));
  return "";
}

const Json* JsonReader::Object(std::string_view name, Presence presence) {
  const Json* value = Value(name, presence);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    Problem(name, "must be an object");
    return nullptr;
  }
  return value;
}

const Json* JsonReader::Array(std::string_view name, size_t max_items, Presence presence) {
  const Json* value = Value(name, presence);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    Problem(name, "must be a list");
    return nullptr;
  }
  if (value->size() > max_items) {
    Problem(name, "must have at most " + std::to_string(max_items) + " items");
    return nullptr;
  }
  return value;
}

}  // namespace api

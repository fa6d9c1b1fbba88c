// SPDX-License-Identifier: Apache-2.0
#include "api/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/architecture.h"
#include "api/label_selector.h"
#include "api/period.h"
#include "kube/base/join.h"
#include "kube/types/quantity.h"

namespace api {

using kube::Json;
using kube::meta::LabelSelector;

namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsName(std::string_view text) {
  constexpr std::string_view kInner = "-_./";
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return IsAlphanumeric(c) || kInner.find(c) != std::string_view::npos;
         });
}

}  // namespace

void JsonFieldReader::operator()(std::string_view name, int64_t& value, Range range,
                                 Presence presence) {
  value = reader_.Int(name, {.range = range, .fallback = value, .presence = presence});
}

void JsonFieldReader::operator()(std::string_view name, int32_t& value, Range range,
                                 Presence presence) {
  int64_t wide = value;
  (*this)(name, wide, range, presence);
  value = static_cast<int32_t>(wide);
}

void JsonFieldReader::operator()(std::string_view name, bool& value, Presence presence) {
  value = reader_.Bool(name, value, presence);
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, Presence presence) {
  if (std::string text = reader_.String(name, presence); !text.empty()) value = std::move(text);
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, OneOf allowed,
                                 Presence presence) {
  std::string text = reader_.Enum(name, allowed.values, presence);
  if (!text.empty()) value = std::move(text);
}

void JsonFieldReader::operator()(std::string_view name, std::string& value,
                                 Architecture architecture, Presence presence) {
  size_t before = reader_.problems().size();
  std::string text = reader_.String(name, presence);
  bool absent = reader_.problems().size() != before || !reader_.Has(name);
  if (absent || (text.empty() && architecture.or_empty)) return;
  if (IsArchitectureName(text)) {
    value = std::move(text);
  } else {
    reader_.Problem(name, "must be the name of an architecture as in kubernetes.io/arch: at most " +
                              std::to_string(kMaxArchitectureName) +
                              " lower-case letters and digits, and none of " +
                              kube::Join(kNoArchitectures));
  }
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, ObjectName) {
  const Json* object = reader_.Object(name);
  if (object == nullptr) return;
  JsonReader reference(*object, reader_.PathOf(name), reader_.problems());
  value = reference.String("name", kRequired);
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, LabelKey) {
  std::string text = reader_.String(name);
  if (text.empty()) return;
  if (IsLabelKey(text)) {
    value = std::move(text);
  } else {
    reader_.Problem(name, "must be the key of a label");
  }
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, DnsLabel) {
  constexpr size_t kMaxLabel = 63;
  std::string text = reader_.String(name, kRequired);
  if (text.empty()) return;
  if (text.size() <= kMaxLabel && text.find('.') == std::string::npos && IsDnsSubdomain(text)) {
    value = std::move(text);
  } else {
    reader_.Problem(name, "must have at most 63 lower-case letters, digits and inner '-'");
  }
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, MaxSize max,
                                 Presence presence) {
  std::string text = reader_.String(name, presence);
  if (text.size() <= max.bytes) {
    value = std::move(text);
  } else {
    reader_.Problem(name, "must have at most " + std::to_string(max.bytes) + " bytes");
  }
}

void JsonFieldReader::operator()(std::string_view name, std::string& value, Quantity bounds) {
  std::string text = reader_.String(name);
  if (text.empty()) return;
  std::optional<double> amount = kube::ParseQuantity(text);
  double units = amount ? *amount / bounds.unit : 0;
  // A sum of tenths is not exact.
  constexpr double kExact = 1e-6;
  if (!amount || std::abs(units - std::round(units)) > kExact) {
    reader_.Problem(name, "must be a quantity of whole " +
                              std::string(bounds.unit < 1 ? "millicores" : "bytes"));
  } else if (*amount < *kube::ParseQuantity(bounds.low) ||
             *amount > *kube::ParseQuantity(bounds.high)) {
    reader_.Problem(
        name, "must be between " + std::string(bounds.low) + " and " + std::string(bounds.high));
  } else {
    value = std::move(text);
  }
}

void JsonFieldReader::operator()(std::string_view name, std::vector<std::string>& values,
                                 SomeOf allowed) {
  const Json* list = reader_.Array(name, allowed.values.size());
  if (list == nullptr) return;
  std::vector<std::string> read;
  if (list->empty()) reader_.Problem(name, "must have at least one item");
  for (const Json& item : *list) {
    std::string text = item.is_string() ? item.get<std::string>() : "";
    bool known =
        std::find(allowed.values.begin(), allowed.values.end(), text) != allowed.values.end();
    if (!known || std::find(read.begin(), read.end(), text) != read.end()) {
      reader_.Problem(name, "must be some of " + kube::Join(allowed.values) + ", each once");
      return;
    }
    read.push_back(std::move(text));
  }
  if (!read.empty()) values = std::move(read);
}

void JsonFieldReader::operator()(std::string_view name, std::vector<std::string>& values,
                                 Strings limits) {
  const Json* list = reader_.Array(name, limits.max_items);
  if (list == nullptr) return;
  for (const Json& item : *list) {
    if (item.is_string() && item.get_ref<const std::string&>().size() <= limits.max_bytes) {
      values.push_back(item.get<std::string>());
    } else {
      reader_.Problem(name,
                      "must be strings of at most " + std::to_string(limits.max_bytes) + " bytes");
    }
  }
}

void JsonFieldReader::operator()(std::string_view name, std::vector<std::string>& values,
                                 Names limits) {
  const Json* list = reader_.Array(name, limits.max_items);
  if (list == nullptr) return;
  for (const Json& item : *list) {
    std::string text = item.is_string() ? item.get<std::string>() : "";
    if (text.size() > limits.max_bytes || !IsName(text)) {
      reader_.Problem(name, "must be names of at most " + std::to_string(limits.max_bytes) +
                                " letters, digits and inner '-', '_', '.' and '/'");
    } else if (std::find(values.begin(), values.end(), text) != values.end()) {
      reader_.Problem(name, "must have each name once");
    } else {
      values.push_back(std::move(text));
    }
  }
}

void JsonFieldReader::operator()(std::string_view name, std::optional<int64_t>& value,
                                 Range range) {
  constexpr int64_t kRefused = std::numeric_limits<int64_t>::min();
  int64_t read = reader_.Int(name, {.range = range, .fallback = kRefused});
  if (read != kRefused) value = read;
}

void JsonFieldReader::operator()(std::string_view name, std::chrono::seconds& value,
                                 Period period) {
  std::string text = reader_.String(name);
  if (text.empty()) return;
  kube::Result<std::chrono::seconds> parsed = ParsePeriod(text, period);
  if (parsed) {
    value = *parsed;
  } else {
    reader_.Problem(name, parsed.error().message());
  }
}

void JsonFieldReader::operator()(std::string_view name, std::optional<LabelSelector>& value) {
  const Json* selector = reader_.Object(name);
  if (selector == nullptr) return;
  std::string path = reader_.PathOf(name);
  value = LabelSelectorFromJson(*selector, path, reader_.problems());
  ValidateLabelSelector(*value, path, reader_.problems());
}

const Json* JsonFieldReader::List(std::string_view name, Items limits, Presence presence) {
  const Json* list = reader_.Array(name, limits.max, presence);
  if (list != nullptr && list->size() < limits.min) {
    reader_.Problem(name,
                    "must have at least " +
                        (limits.min == 1 ? "one item" : std::to_string(limits.min) + " items"));
  }
  return list;
}

std::string JsonFieldReader::ItemPath(std::string_view name, size_t index) const {
  return reader_.PathOf(name) + "[" + std::to_string(index) + "]";
}

bool JsonFieldReader::Accept(const Json& list, size_t index, std::string_view unique,
                             JsonFieldReader& item) {
  std::string key = unique.empty() ? "" : kube::StringAt(list[index], unique);
  for (size_t earlier = 0; !key.empty() && earlier < index; ++earlier) {
    if (kube::StringAt(list[earlier], unique) != key) continue;
    item.reader_.Problem(unique, "\"" + key + "\" is listed twice");
    break;
  }
  FieldErrors& problems = item.reader_.problems();
  for (FieldError& problem : problems)
    AddProblem(reader_.problems(), std::move(problem.field), std::move(problem.message));
  return problems.empty();
}

void JsonFieldWriter::Put(std::string_view name, Json value) {
  json_[std::string(name)] = std::move(value);
}

void JsonFieldWriter::operator()(std::string_view name, int64_t value, Range, Presence) {
  Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, bool value, Presence) { Put(name, value); }

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, Presence) {
  Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, OneOf,
                                 Presence presence) {
  if (presence == kRequired || !value.empty()) Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, Architecture,
                                 Presence presence) {
  if (presence == kRequired || !value.empty()) Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, ObjectName) {
  if (!value.empty()) Put(name, {{"name", value}});
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, LabelKey) {
  Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, DnsLabel) {
  Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, MaxSize,
                                 Presence presence) {
  if (presence == kRequired || !value.empty()) Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::string& value, Quantity) {
  if (!value.empty()) Put(name, value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::optional<int64_t>& value,
                                 Range) {
  if (value) Put(name, *value);
}

void JsonFieldWriter::operator()(std::string_view name, const std::vector<std::string>& values,
                                 SomeOf) {
  if (!values.empty()) Put(name, values);
}

void JsonFieldWriter::operator()(std::string_view name, const std::vector<std::string>& values,
                                 Strings) {
  Put(name, values);
}

void JsonFieldWriter::operator()(std::string_view name, const std::vector<std::string>& values,
                                 Names) {
  if (!values.empty()) Put(name, values);
}

void JsonFieldWriter::operator()(std::string_view name, std::chrono::seconds value, Period) {
  Put(name, std::to_string(value.count()) + "s");
}

void JsonFieldWriter::operator()(std::string_view name, const std::optional<LabelSelector>& value) {
  if (value) Put(name, LabelSelectorToJson(*value));
}

}  // namespace api

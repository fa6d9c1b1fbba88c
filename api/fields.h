// SPDX-License-Identifier: Apache-2.0
// The field list of an API struct: one line per field, with its name in the API and its bounds.
// Reading, validation and writing (json_fields.h) go by this list, and crds_test.cc compares it
// with the CRD. A new field is one line here and one property in api/crds/.
//
//   struct Spec {
//     int32_t priority = 0;  // stays 0 where the field is absent or refused
//     std::optional<Plugins> plugins;
//
//     static void Fields(auto& spec, auto& field) {
//       field("priority", spec.priority, Range{.low = 0, .high = 255});
//       field("plugins", spec.plugins, kRequired);
//     }
//   };
//
// A std::optional<T> and the T of a std::vector<T> are structs with a field list of their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace api {

enum Presence { kOptional, kRequired };

// Bounds of an int32_t or int64_t; both ends are allowed.
struct Range {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
};

// The allowed values of a std::string.
struct OneOf {
  std::span<const std::string_view> values;
};

// A std::string that is the name of an architecture (architecture.h). With `or_empty`, "" is
// allowed as well and means absent.
struct Architecture {
  bool or_empty = false;
};

// A std::string that is the key of a label or taint.
struct LabelKey {};

// A std::string that is a DNS label: at most 63 lower-case letters, digits and inner '-'.
struct DnsLabel {};

// The largest size in bytes of a std::string, which must not be empty unless it is kOptional.
struct MaxSize {
  size_t bytes;
};

// Limits of a std::vector<std::string>.
struct Strings {
  size_t max_items;
  size_t max_bytes;  // of each
};

// Limits of a std::vector<std::string> of names, each once. A name has letters, digits and inner
// '-', '_', '.' and '/': it can be a part of a CEL expression.
struct Names {
  size_t max_items;
  size_t max_bytes;  // of each
};

// The allowed values of a std::vector<std::string>, which has at least one of them, each once.
struct SomeOf {
  std::span<const std::string_view> values;
};

// A std::string that the API has as an object with one field, `name`. "" if absent.
struct ObjectName {};

// Bounds of std::chrono::seconds, which the API has as a string ("1m30s"); both ends are allowed.
struct Period {
  std::chrono::seconds low;
  std::chrono::seconds high;
};

// A std::string that is a quantity of a resource, of whole `unit`s; "" if absent. Both ends are
// allowed.
struct Quantity {
  std::string_view low;
  std::string_view high;
  double unit;
};

// Limits of a std::vector.
struct Items {
  size_t min = 0;
  size_t max = std::numeric_limits<size_t>::max();
  std::string_view unique = {};  // a string field of the items: no two have the same value
};

}  // namespace api

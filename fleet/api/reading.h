// SPDX-License-Identifier: Apache-2.0
// What the readers of this folder share: bounded strings, lists, times and metadata from untrusted
// JSON. Problems are reported through the api::JsonReader.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_reader.h"
#include "fleet/api/names.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {

// "" and a problem if the string is longer.
std::string ReadString(api::JsonReader& reader, std::string_view name, size_t max_bytes = kMaxName,
                       api::Presence presence = api::kOptional);

// Calls `read` for each item of a list with at most `max_items`. A longer list is a problem and
// counts as empty.
void ForEachItem(api::JsonReader& reader, std::string_view name, size_t max_items,
                 const std::function<void(api::JsonReader& item, const kube::Json& json)>& read);

// The RFC 3339 time in a field; nullopt where absent or, with a problem, malformed.
std::optional<kube::WallTime> ReadTime(api::JsonReader& reader, std::string_view name);

// metadata.labels, where at most `max_items` are kept, each of at most 1 KiB.
std::map<std::string, std::string> ReadLabels(const kube::Json& object, size_t max_items,
                                              api::FieldErrors& problems);

// The label or annotation `key`; "" if there is none. `map`: "metadata.labels" or
// "metadata.annotations".
std::string MetadataString(const kube::Json& object, std::string_view map, std::string_view key);

// metadata.deletionTimestamp is set.
bool IsDeleting(const kube::Json& object);

// Reads into `object` what says which object it is, which version, and whether it is being deleted.
template <class Object>
void ReadMetadata(const kube::Json& json, Object& object) {
  object.ns = kube::StringAt(json, "metadata.namespace");
  object.name = kube::StringAt(json, "metadata.name");
  object.uid = kube::StringAt(json, "metadata.uid");
  object.resource_version = kube::StringAt(json, "metadata.resourceVersion");
  object.deleting = IsDeleting(json);
}

}  // namespace fleet

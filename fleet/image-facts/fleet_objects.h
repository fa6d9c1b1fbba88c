// SPDX-License-Identifier: Apache-2.0
// The ImageFacts objects on a hub: those that members publish, each in its own namespace, and the
// shared ones that the hub gives to all members, in the hub's namespace. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "image-facts/fact_book.h"

namespace fleet {

// What a member publishes: some 6,700 facts with usual names.
inline constexpr image_facts::FactLimits kPublishedLimits{
    .objects = 4, .namespace_bytes = size_t{1} << 20, .again = std::chrono::minutes(5)};
// What the hub gives to all: some 13,000 facts. A member has a sixteenth of the room.
inline constexpr image_facts::FactLimits kSharedLimits{.objects = 8,
                                                       .namespace_bytes = 112 * 1024,
                                                       .fresh = std::chrono::seconds(30),
                                                       .again = std::chrono::minutes(5),
                                                       .prefix = "shared-image-facts-"};
// ImageFacts::configuration of both: what a registry tells everybody depends on no configuration
// of a cluster.
inline constexpr std::string_view kFleetConfiguration = "fleet";

// The object that names the shared ones: its `configuration` is the text of SharedVersions.
inline constexpr std::string_view kSharedHead = "shared-image-facts";
// The names that an agent may read, in any namespace: nobody but the hub writes such objects.
std::vector<std::string> SharedNames();

// By name, the resourceVersion of each shared object.
using SharedVersions = std::map<std::string, std::string>;
std::string ToText(const SharedVersions& versions);
// Untrusted text; what does not name a shared object is left out.
SharedVersions SharedVersionsFromText(std::string_view text);

// Whether a member may publish an object with that name.
bool IsPublishedName(std::string_view name);

}  // namespace fleet

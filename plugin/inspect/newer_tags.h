// SPDX-License-Identifier: Apache-2.0
// NewerTags: which tags of a repository are newer versions of a tag. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plugin {

// Of untrusted `tags`, those with a greater version and the same text around it, the newest first,
// at most `limit`: "1.27.3-alpine" has the newer "1.29-alpine", but neither "1.29" nor "2-slim". A
// tag without a number ("latest", "main") has none. Versions before a release ("1.0-rc.1") count
// only if the tag is one itself.
std::vector<std::string> NewerTags(std::string_view tag, const std::vector<std::string>& tags,
                                   size_t limit);

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
// The files of the pages (console/web), which are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace console {

struct StaticFile {
  std::string_view path;  // "/app.js"; "/" for the page itself
  std::string_view content_type;
  std::string_view etag;     // with its quotes
  std::string_view content;  // compressed with gzip
};

std::span<const StaticFile> StaticFiles();

}  // namespace console

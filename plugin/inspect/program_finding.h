// SPDX-License-Identifier: Apache-2.0
// ProgramFinding: whether the program of an image runs where the image's index says that it does.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exec-format/entrypoint/image_file.h"
#include "kube/types/unstructured.h"

namespace plugin {

// What was read of one image of an index.
struct VariantProgram {
  std::optional<exec_format::ImageFile> file;
  // Not empty: why `file` is not there.
  std::string error;
};

// What the index, or the config of an only image, says.
struct Promise {
  std::string os, architecture;
  int amd64_level = 0;  // 2 to 4; 0: every amd64
};
// "linux/amd64/v3"
Promise PromiseOfPlatform(std::string_view platform);

// Whether containers of the image fail to start on each node of the platform.
bool NeverStarts(const VariantProgram& program, const Promise& promise);

// The cells of a table; they have text of the image.
struct ProgramRow {
  std::string program;    // "/run.sh, /usr/bin/dash": a script and its interpreter
  std::string machine;    // "arm64"; "no program" and the like for what is none
  std::string alignment;  // "64 KiB", of the pages
  std::string level;      // "x86-64-v3"
  std::string finding;    // "" if it runs, as far as its headers say
};
ProgramRow RowOf(const VariantProgram& program, const Promise& promise);
kube::Json AsJson(const VariantProgram& program, const Promise& promise);

}  // namespace plugin

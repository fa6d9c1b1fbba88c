// SPDX-License-Identifier: Apache-2.0
// ImageFile: what was found out about a file of an image. Pure, and apart from what reads it
// (image_files.h), for those that only show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exec-format/binary/binary_format.h"

namespace exec_format {

enum class FileOutcome {
  kFound,
  kNoCommand,            // neither the image nor the container names a program
  kNotFound,             // in no layer
  kHidden,               // in a layer, but removed by one above
  kLinkLoop,             // too many symbolic links, or names to look up
  kNotExecutable,        // a folder, a device, or without the permission
  kTooManyInterpreters,  // scripts whose interpreters are scripts
  kTooManyBytes,         // the limits of ReadImageFile()
  kUnsupportedLayer,     // encrypted, not distributable, or of an unknown type
};
// "not found in any layer". For people.
std::string_view Describe(FileOutcome outcome);

struct FoundFile {
  std::string path;   // after all symbolic links
  std::string layer;  // the digest of the layer that has it
  BinaryFormat format;
};

struct ImageFile {
  FileOutcome outcome = FileOutcome::kFound;
  // With another outcome: the path or layer that it is about. Untrusted.
  std::string about;
  // The file; where it is a script, its interpreter, and so on. With another outcome, what was
  // found before it.
  std::vector<FoundFile> files;
  // Paths at which the file was looked for: the program is the first of them that is there.
  std::vector<std::string> candidates;
  std::string manifest;  // the digest of the platform's manifest
  // Of layers: compressed bytes and number.
  uint64_t bytes_read = 0;
  size_t layers_read = 0;

  // What the kernel runs. Only with kFound.
  const FoundFile& program() const { return files.back(); }
};

}  // namespace exec_format

// SPDX-License-Identifier: Apache-2.0
// ReadImageFile(): which file of an image a container executes, and what the file is, read from the
// image's layers in the registry.
//
//   Result<ImageFile> file = co_await ReadImageFile(client, repository, digest, platform,
//                                                   {}, {}, deadline);
//   if (file && file->outcome == FileOutcome::kFound) ... file->program().format ...
//
// Layers are read from the top down, until the answer cannot change: for a static program at an
// absolute path, often the topmost layer alone; for a name without "/", which PATH finds, all of
// them. A layer is read to its end and has the digest that the manifest names, or nothing of it
// counts: a later entry could replace an earlier one, and a part of a layer would prove only what
// the registry's name and TLS prove. So a layer that is too large is not begun. Memory: some MiB
// (file_tree.h, unpacker.h) and one piece of the layer, whatever the image is. Thread: the
// client's. Unpacking runs on it between two pieces of 16 KiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exec-format/binary/binary_format.h"
#include "exec-format/entrypoint/entrypoint_path.h"
#include "exec-format/entrypoint/image_manifest.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace exec_format {

// Compressed.
inline constexpr uint64_t kMaxLayerBytes = 64u << 20;
inline constexpr uint64_t kMaxImageBytes = 128u << 20;
// Interpreters of interpreters, about as many as Linux allows.
inline constexpr size_t kMaxInterpreters = 4;

struct ImageFileLimits {
  // Of one layer, and of all layers that are read, in compressed bytes.
  uint64_t layer_bytes = kMaxLayerBytes;
  uint64_t image_bytes = kMaxImageBytes;
};

struct FileQuestion {
  // Absolute; "": what a container executes, by the image's config and `container`.
  std::string path = {};
  ContainerCommand container = {};
};

enum class FileOutcome {
  kFound,
  kNoCommand,            // neither the image nor the container names a program
  kNotFound,             // in no layer
  kHidden,               // in a layer, but removed by one above
  kLinkLoop,             // too many symbolic links
  kNotExecutable,        // a folder, a device, or without the permission
  kTooManyInterpreters,  // scripts whose interpreters are scripts
  kTooManyBytes,         // ImageFileLimits
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
  std::string manifest;  // the digest of the platform's manifest
  // Of layers: compressed bytes and number.
  uint64_t bytes_read = 0;
  size_t layers_read = 0;

  // What the kernel runs. Only with kFound.
  const FoundFile& program() const { return files.back(); }
};

// `digest`: of an index or a manifest; the platform chooses from an index only. `client` outlives
// the call.
// Errors: RegistryClient's, with kDeadlineExceeded; kNotFound if the index has no image for the
// platform; kInvalid for documents and layers that are not valid, exceed the limits of file_tree.h
// and unpacker.h, or have another digest.
kube::Async<ImageFile> ReadImageFile(inspection::RegistryClient& client,
                                     const inspection::Repository& repository, std::string digest,
                                     WantedPlatform platform, FileQuestion question,
                                     ImageFileLimits limits, kube::TimePoint deadline);

}  // namespace exec_format

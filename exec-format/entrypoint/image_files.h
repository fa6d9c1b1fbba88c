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

#include <cstddef>
#include <cstdint>
#include <string>

#include "exec-format/entrypoint/entrypoint_path.h"
#include "exec-format/entrypoint/image_file.h"
#include "exec-format/entrypoint/image_manifest.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace exec_format {

// Compressed.
inline constexpr uint64_t kMaxLayerBytes = 64u << 20;
inline constexpr uint64_t kMaxImageBytes = 128u << 20;
// Of all layers that are read, unpacked.
inline constexpr uint64_t kMaxImageUnpackedBytes = uint64_t{2} << 30;
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

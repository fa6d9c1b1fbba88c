// SPDX-License-Identifier: Apache-2.0
// EntrypointPaths(): which file a container executes first, from its image's config and its spec.
//
//   Result<ImageCommand> image = ParseImageCommand(config_blob);
//   Result<std::vector<std::string>> paths = EntrypointPaths(*image, {});
//   // the first of them that is an executable file is the program
//
// Pure. Sources: OCI Image Spec 1.1 (config.md), "Define a Command and Arguments for a Container"
// of the Kubernetes documentation, and runc, which searches PATH as Go's exec.LookPath does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace exec_format {

// What container runtimes set if neither the image nor the container has PATH.
inline constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// Of PATH; further folders are ignored.
inline constexpr size_t kMaxPathFolders = 64;

struct ImageCommand {
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::optional<std::string> path;  // of Env
  std::string working_dir;
};

// What of it the container's spec sets; empty members leave the image's.
struct ContainerCommand {
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::optional<std::string> path;  // of env
  std::string working_dir;
};

// Of an untrusted config blob. Members of another type count as absent, as do texts that no kernel
// accepts as a path. Errors: kInvalid for a document that is no JSON object.
kube::Result<ImageCommand> ParseImageCommand(std::string_view config);

// Absolute paths in the order in which they are tried; not cleaned. Errors: kInvalid if there is no
// command, and if it depends on variables ("$(HOME)/run").
kube::Result<std::vector<std::string>> EntrypointPaths(const ImageCommand& image,
                                                       const ContainerCommand& container);

// The absolute path of an interpreter that a script names.
std::string InterpreterPath(const ImageCommand& image, const ContainerCommand& container,
                            std::string_view interpreter);

}  // namespace exec_format

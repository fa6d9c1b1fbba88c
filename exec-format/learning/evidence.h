// SPDX-License-Identifier: Apache-2.0
// Evidence: what a failure in a container says about its image. Pure functions.
//
// Nothing of the failure is trusted: a node may be compromised, and a tenant chooses what its
// containers execute. What counts for the pods of all namespaces is only what the image itself
// says: the program that its own config names, read from its own layers. Nobody can forge that, for
// it has the digest. A command of a pod, and what could not be read, count in the pod's namespace
// alone; files on volumes never do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec-format/entrypoint/entrypoint_path.h"
#include "exec-format/entrypoint/image_file.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// Of a container's command, arguments and PATH, in bytes. A larger one is not examined.
inline constexpr size_t kMaxCommandBytes = 8u << 10;
size_t CommandBytes(const ContainerCommand& command);

// A container in which a file could not be executed.
struct FailedContainer {
  kube::ObjectKey pod;
  std::string uid;
  std::string account;
  std::vector<std::string> pull_secrets;
  std::string image;     // as the pod names it
  std::string image_id;  // as the node names it
  // Empty: the container executes what the image says.
  ContainerCommand command;
  std::string path;  // that was executed
  bool is_on_volume = false;
};
// nullopt if `container` is none of the pod's containers and init containers, or the pod has larger
// texts than pods have.
std::optional<FailedContainer> FailedContainerOf(const kube::Json& pod,
                                                 const std::string& container,
                                                 const std::string& path);

enum class Verdict {
  // The program is for the architecture, or it is no program: a script without #! fails everywhere.
  kNothing,
  // The image's own program is built for another architecture.
  kWrong,
  // The image's own program runs on amd64, but needs a level of x86-64.
  kNeedsLevel,
  // The program that the container's command names is built for another architecture: for the pods
  // of the namespace.
  kWrongCommand,
  // The program could not be read, but it is the one that failed: once it has failed in a second
  // pod, it counts for the pods of the namespace.
  kNotRead,
};
// `file`: what was read from the image, for container.command. `digest`: of the index.
Verdict Judge(const FailedContainer& container, const ImageFile& file, std::string_view digest,
              std::string_view architecture);
// The same of an image of which nothing has failed yet: kWrong, kNeedsLevel or kNothing.
Verdict JudgeProgram(const ImageFile& file, std::string_view architecture);

}  // namespace exec_format

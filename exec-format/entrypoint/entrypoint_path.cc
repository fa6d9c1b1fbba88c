// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/entrypoint_path.h"

#include <algorithm>

#include "exec-format/entrypoint/layer_tar.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace exec_format {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

// Only the first text of each list is used.
std::vector<std::string> FirstOf(const Json& list) {
  if (list.empty() || !list.front().is_string()) return {};
  return {list.front().get<std::string>()};
}

bool IsPath(std::string_view text) {
  return text.size() < kMaxPathBytes && text.find('\0') == std::string_view::npos;
}

std::string InFolder(const std::string& folder, std::string_view name) {
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

std::string WorkingDir(const ImageCommand& image, const ContainerCommand& container) {
  std::string folder = container.working_dir.empty() ? image.working_dir : container.working_dir;
  if (!IsPath(folder)) return "/";
  return folder.starts_with('/') ? folder : "/" + folder;
}

}  // namespace

Result<ImageCommand> ParseImageCommand(std::string_view config) {
  Result<Json> json = kube::ParseJson(config);
  if (!json) return json.error().Prefix("image config");
  if (!json->is_object()) return Error::Invalid("the image config is not an object");
  ImageCommand image;
  const Json& run = kube::ObjectAt(*json, "config");
  image.entrypoint = FirstOf(kube::ListAt(run, "Entrypoint"));
  image.cmd = FirstOf(kube::ListAt(run, "Cmd"));
  image.working_dir = kube::StringAt(run, "WorkingDir");
  constexpr std::string_view kPath = "PATH=";
  for (const Json& variable : kube::ListAt(run, "Env")) {
    if (!variable.is_string()) continue;
    const std::string& text = variable.get_ref<const std::string&>();
    if (text.starts_with(kPath)) image.path = text.substr(kPath.size());
  }
  return image;
}

Result<std::vector<std::string>> EntrypointPaths(const ImageCommand& image,
                                                 const ContainerCommand& container) {
  // A container's command replaces both of the image; its args only the image's Cmd.
  std::string program;
  const bool is_own =
      !container.command.empty() || (image.entrypoint.empty() && !container.args.empty());
  if (!container.command.empty()) {
    program = container.command.front();
  } else if (!image.entrypoint.empty()) {
    program = image.entrypoint.front();
  } else if (!container.args.empty()) {
    program = container.args.front();
  } else if (!image.cmd.empty()) {
    program = image.cmd.front();
  }
  if (program.empty()) return Error::Invalid("the image names no command");
  if (!IsPath(program)) return Error::Invalid("the command is not a path");
  if (is_own && program.find("$(") != std::string::npos)
    return Error::Invalid("the command depends on variables");

  if (program.starts_with('/')) return std::vector<std::string>{program};
  const std::string working_dir = WorkingDir(image, container);
  if (program.find('/') != std::string::npos)
    return std::vector<std::string>{InFolder(working_dir, program)};
  const std::string path =
      container.path ? *container.path : image.path.value_or(std::string(kDefaultPath));
  std::vector<std::string> paths;
  std::string_view rest = path;
  for (bool has_more = !rest.empty(); has_more && paths.size() < kMaxPathFolders;) {
    const size_t end = rest.find(':');
    has_more = end != std::string_view::npos;
    const std::string folder(rest.substr(0, end));
    if (has_more) rest.remove_prefix(end + 1);
    if (!IsPath(folder)) continue;
    // An empty folder is the working directory.
    const bool is_absolute = folder.starts_with('/');
    paths.push_back(InFolder(is_absolute ? folder : InFolder(working_dir, folder), program));
  }
  if (paths.empty()) return Error::Invalid("PATH is empty");
  return paths;
}

std::string InterpreterPath(const ImageCommand& image, const ContainerCommand& container,
                            std::string_view interpreter) {
  if (interpreter.starts_with('/')) return std::string(interpreter);
  return InFolder(WorkingDir(image, container), interpreter);
}

}  // namespace exec_format

// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/evidence.h"

#include <algorithm>
#include <utility>

#include "exec-format/entrypoint/layer_tar.h"
#include "kube/types/list_at.h"
#include "kube/types/object_name.h"

namespace exec_format {
namespace {

using kube::Json;

constexpr size_t kMaxImageName = 512;
constexpr size_t kMaxPullSecrets = 16;
constexpr const char* kContainerLists[] = {"spec.containers", "spec.initContainers"};
constexpr const char* kStatusLists[] = {"status.containerStatuses", "status.initContainerStatuses"};

const Json* FindByName(const Json& pod, const char* list, const std::string& name) {
  for (const Json& item : kube::ListAt(pod, list)) {
    if (kube::StringAt(item, "name") == name) return &item;
  }
  return nullptr;
}

std::vector<std::string> StringsAt(const Json& object, std::string_view path) {
  std::vector<std::string> strings;
  for (const Json& item : kube::ListAt(object, path)) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

ContainerCommand CommandOf(const Json& container) {
  ContainerCommand command{.command = StringsAt(container, "command"),
                           .args = StringsAt(container, "args"),
                           .working_dir = kube::StringAt(container, "workingDir")};
  for (const Json& variable : kube::ListAt(container, "env")) {
    if (kube::StringAt(variable, "name") == "PATH")
      command.path = kube::StringAt(variable, "value");
  }
  return command;
}

bool IsOnVolume(const Json& container, const std::string& path) {
  const std::string file = CleanPath(path);
  for (const Json& mount : kube::ListAt(container, "volumeMounts")) {
    const std::string folder = CleanPath(kube::StringAt(mount, "mountPath"));
    if (folder.empty() || file == folder || file.starts_with(folder + "/")) return true;
  }
  return false;
}

// Whether the path that has failed is one at which the program was looked for.
bool IsTheProgram(const FailedContainer& container, const ImageFile& file) {
  if (!container.path.starts_with('/')) return false;
  const std::string failed = CleanPath(container.path);
  return std::any_of(file.candidates.begin(), file.candidates.end(),
                     [&](const std::string& path) { return CleanPath(path) == failed; });
}

// A tag may have moved since the node pulled the image.
bool IsTheImage(const FailedContainer& container, const ImageFile& file, std::string_view digest) {
  const size_t at = container.image_id.rfind('@');
  if (at == std::string::npos) return false;
  const std::string_view pulled = std::string_view(container.image_id).substr(at + 1);
  return pulled == digest || pulled == file.manifest;
}

}  // namespace

size_t CommandBytes(const ContainerCommand& command) {
  size_t bytes = command.working_dir.size() + command.path.value_or("").size();
  for (const std::string& text : command.command) bytes += text.size() + 1;
  for (const std::string& text : command.args) bytes += text.size() + 1;
  return bytes;
}

std::optional<FailedContainer> FailedContainerOf(const Json& pod, const std::string& container,
                                                 const std::string& path) {
  if (container.empty()) return std::nullopt;
  FailedContainer failed;
  for (size_t i = 0; i < std::size(kContainerLists); ++i) {
    const Json* spec = FindByName(pod, kContainerLists[i], container);
    if (spec == nullptr) continue;
    failed.image = kube::StringAt(*spec, "image");
    failed.command = CommandOf(*spec);
    failed.is_on_volume = IsOnVolume(*spec, path);
    const Json* status = FindByName(pod, kStatusLists[i], container);
    if (status != nullptr) failed.image_id = kube::StringAt(*status, "imageID");
    break;
  }
  failed.pod = {kube::StringAt(pod, "metadata.namespace"), kube::StringAt(pod, "metadata.name")};
  failed.uid = kube::StringAt(pod, "metadata.uid");
  failed.account = kube::StringAt(pod, "spec.serviceAccountName");
  failed.path = path;
  for (const Json& secret : kube::ListAt(pod, "spec.imagePullSecrets")) {
    std::string name = kube::StringAt(secret, "name");
    if (kube::IsObjectName(name)) failed.pull_secrets.push_back(std::move(name));
  }
  if (failed.image.empty() || failed.image.size() > kMaxImageName ||
      failed.image_id.size() > 2 * kMaxImageName || failed.pull_secrets.size() > kMaxPullSecrets ||
      CommandBytes(failed.command) > kMaxCommandBytes)
    return std::nullopt;
  // The image's own program is read from its own config, whatever arguments the pod has for it.
  if (failed.command.command.empty()) failed.command = {};
  return failed;
}

Verdict JudgeProgram(const ImageFile& file, std::string_view architecture) {
  if (file.outcome != FileOutcome::kFound) return Verdict::kNothing;
  const BinaryFormat& format = file.program().format;
  const bool is_wrong =
      format.kind == BinaryFormat::Kind::kElf && RunsOn(format, architecture) == RunVerdict::kNo;
  if (is_wrong) return Verdict::kWrong;
  // Level 1 is that of every amd64.
  const bool needs_level = format.kind == BinaryFormat::Kind::kElf &&
                           architecture == format.elf.architecture && format.elf.amd64_level > 1;
  return needs_level ? Verdict::kNeedsLevel : Verdict::kNothing;
}

Verdict Judge(const FailedContainer& container, const ImageFile& file, std::string_view digest,
              std::string_view architecture) {
  const bool is_own = container.command.command.empty();
  const bool is_the_program = !container.is_on_volume && IsTheProgram(container, file);
  switch (file.outcome) {
    case FileOutcome::kFound: {
      const Verdict verdict = JudgeProgram(file, architecture);
      if (is_own) return verdict;
      return verdict == Verdict::kWrong && is_the_program ? Verdict::kWrongCommand
                                                          : Verdict::kNothing;
    }
    case FileOutcome::kTooManyBytes:
    case FileOutcome::kUnsupportedLayer:
      return is_the_program && IsTheImage(container, file, digest) ? Verdict::kNotRead
                                                                   : Verdict::kNothing;
    default:
      return Verdict::kNothing;
  }
}

}  // namespace exec_format

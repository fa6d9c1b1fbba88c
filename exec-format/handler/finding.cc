// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/finding.h"

#include <algorithm>
#include <string_view>

#include "kube/types/list_at.h"
#include "kube/types/object_name.h"

namespace exec_format {

using kube::Json;

namespace {

constexpr size_t kMaxUid = 36;
constexpr size_t kMaxLabel = 63;  // of a container's name, and of a label's value

constexpr const char* kStatusLists[] = {"status.containerStatuses", "status.initContainerStatuses",
                                        "status.ephemeralContainerStatuses"};
constexpr const char* kContainerIds[] = {"containerID", "state.terminated.containerID",
                                         "lastState.terminated.containerID"};

bool IsUid(std::string_view uid) {
  return !uid.empty() && uid.size() <= kMaxUid && std::all_of(uid.begin(), uid.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// Untrusted text as printable ASCII without quotes, at most `size` bytes of it. Other bytes are
// written as \x and two hexadecimal digits.
std::string Shown(std::string_view text, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '`';
    std::string next =
        plain ? std::string(1, c) : std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 0xf];
    if (shown.size() + next.size() > size) return shown + "...";
    shown += next;
  }
  return shown;
}

// "0123…" of "containerd://0123…".
std::string DigitsOf(const std::string& container_id) {
  constexpr std::string_view kSeparator = "://";
  size_t at = container_id.find(kSeparator);
  return at == std::string::npos ? "" : container_id.substr(at + kSeparator.size());
}

std::string Quoted(std::string_view text, size_t size) { return "\"" + Shown(text, size) + "\""; }

}  // namespace

std::optional<Skipped> SkippedByAge(const ENoExecEvent& event, std::chrono::seconds age) {
  if (event.node_name.empty() && age >= kStatusWithin) return Skipped::kNoStatus;
  if (age > kMaxAge) return Skipped::kTooOld;
  return std::nullopt;
}

bool WaitsForStatus(const ENoExecEvent& event, std::chrono::seconds age) {
  return event.node_name.empty() && age < kStatusWithin;
}

std::optional<kube::ObjectKey> NamedPod(const ENoExecEvent& event) {
  if (!kube::IsObjectName(event.pod_namespace) || !kube::IsObjectName(event.pod_name))
    return std::nullopt;
  return kube::ObjectKey{event.pod_namespace, event.pod_name};
}

bool HasPodUid(const ENoExecEvent& event) {
  return IsUid(event.pod_uid) && kube::IsObjectName(event.node_name);
}

bool IsPodOf(const Json& pod, const ENoExecEvent& event) {
  const std::string node = kube::StringAt(pod, "spec.nodeName");
  if (node.empty() || node != event.node_name) return false;
  if (!event.pod_uid.empty()) return kube::StringAt(pod, "metadata.uid") == event.pod_uid;
  return kube::MetadataFromJson(pod).creation_timestamp().seconds() <=
         event.metadata().creation_timestamp().seconds();
}

std::string ContainerNameOf(const Json& pod, const std::string& container_id) {
  const std::string wanted = DigitsOf(container_id);
  if (wanted.empty()) return "";
  for (const char* list : kStatusLists) {
    for (const Json& status : kube::ListAt(pod, list)) {
      for (const char* id : kContainerIds) {
        if (DigitsOf(kube::StringAt(status, id)) == wanted) return kube::StringAt(status, "name");
      }
    }
  }
  return "";
}

std::string MessageOf(const Finding& finding) {
  std::string message = finding.container.empty()
                            ? "A container"
                            : "Container " + Quoted(finding.container, kMaxLabel);
  message += " tried to execute ";
  message += finding.command.empty() ? "a file" : Quoted(finding.command, kShownCommand);
  if (!finding.program.empty()) message += " (" + Shown(finding.program, kMaxProgram) + ")";
  message += ", which is no program for the node " + finding.node;
  if (!finding.architecture.empty()) message += " (" + Shown(finding.architecture, kMaxLabel) + ")";
  message +=
      ". The index of the image may name an architecture that the file is not for, or the file was "
      "copied from another image: kubectl placement inspect IMAGE --deep shows the architecture of "
      "the file. A script without #! in its first line fails in the same way.";
  return message;
}

}  // namespace exec_format

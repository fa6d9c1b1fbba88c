// SPDX-License-Identifier: Apache-2.0
// What an ENoExecEvent says about a pod: pure functions. Neither the object nor the status of the
// pod is trusted: a node may be compromised, and a command is a tenant's text.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "exec-format/e_no_exec_event.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// The creator of an object writes its status afterwards, within this time.
inline constexpr std::chrono::seconds kStatusWithin{60};
// Older objects are deleted without an event: it would say what is no longer so.
inline constexpr std::chrono::minutes kMaxAge{10};
// Of the command, in the message of an event: bytes as they are shown. The whole message has at
// most the 1,024 bytes of an event.
inline constexpr size_t kShownCommand = 224;

// Why an object is deleted without an event.
enum class Skipped {
  kNoStatus,    // no node name within kStatusWithin
  kTooOld,      // older than kMaxAge
  kNotMatched,  // the node has no such pod
  kTooMany,     // the pod has had its events
  kTooLarge,    // the pod is too large to be read
};

// By `age` alone; nullopt: to be handled, or to wait for its status.
std::optional<Skipped> SkippedByAge(const ENoExecEvent& event, std::chrono::seconds age);
// Whether its status is still to be written.
bool WaitsForStatus(const ENoExecEvent& event, std::chrono::seconds age);

// The pod that the object names; nullopt if it names none, or no valid one.
std::optional<kube::ObjectKey> NamedPod(const ENoExecEvent& event);
// Whether a pod can be found by its UID among the pods of the node.
bool HasPodUid(const ENoExecEvent& event);

// Whether `pod` is the one of the object, on the node of the object. Without a UID in the object, a
// pod that is younger than the object is another one, of the same name.
bool IsPodOf(const kube::Json& pod, const ENoExecEvent& event);

// The name of the pod's container that has this ID, or had it before its last restart; "" if there
// is none, or not yet. The digits are compared: a monitor may not know the name of the runtime.
std::string ContainerNameOf(const kube::Json& pod, const std::string& container_id);

struct Finding {
  std::string container;  // "": not known
  std::string command;    // "": not known
  std::string program;    // what the file is; "": not known
  std::string node;
  std::string architecture;  // "": not known
};

// The message of the pod's event, in printable ASCII.
std::string MessageOf(const Finding& finding);

}  // namespace exec_format

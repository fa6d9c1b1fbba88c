// SPDX-License-Identifier: Apache-2.0
// ENoExecEvent: execve() or execveat() in a container returned ENOEXEC: the file is not for the
// node. A monitor creates it in the operator's namespace; the cluster controller tells the owner of
// the pod, and deletes it (handler/).
//
// The kind is that of the Go operator, with podUID, which a monitor reads from the cgroup, and
// command. Whoever reads it gets the pod by its name, or else by its UID among the pods of the
// node. What it says is not trusted: a node may be compromised, and a command is a tenant's text.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// Of the command; a longer one is cut.
inline constexpr size_t kMaxCommand = 256;
// Of what the file is.
inline constexpr size_t kMaxProgram = 64;

class ENoExecEvent {
 public:
  // Never fails: a field that is absent or of another type is "".
  static kube::Result<ENoExecEvent> FromJson(kube::Json object);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The status.
  std::string node_name;
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  std::string container_id;  // "containerd://0123…": 64 hexadecimal digits
  std::string command;       // the path that was to be executed, in UTF-8
  std::string program;       // what the file is, for people: "ELF 64-bit arm64"; "": not known

 private:
  kube::meta::ObjectMeta metadata_;
};

}  // namespace exec_format

template <>
struct kube::ResourceOf<exec_format::ENoExecEvent> {
  static constexpr Resource value{"multiarch.openshift.io", "v1beta1", "enoexecevents",
                                  "ENoExecEvent"};
};

// SPDX-License-Identifier: Apache-2.0
// PodVolumes: the volumes of one pod as folders of this machine, updated as a kubelet does.
//
// Secret, ConfigMap, downward API and projected volumes (with ServiceAccount tokens) have their
// files; other volumes are empty folders.
#pragma once

#include <map>
#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

class PodVolumes {
 public:
  PodVolumes(kube::Client& client, Json pod, std::string pod_ip, std::string folder);

  // Writes the changes since the last call. kNotFound while a Secret or ConfigMap that is not
  // optional is missing.
  kube::Async<> Refresh();

  // `text` with paths in the container replaced by paths of this machine.
  std::string Translate(std::string text) const;
  // The folder of the ServiceAccount's token; empty if the pod has none.
  std::string TokenFolder() const;
  // The value of a downward API field ("metadata.name", "status.podIP"); "" for unknown fields.
  std::string FieldOfPod(const std::string& path) const;

 private:
  kube::Async<> WriteSource(std::string folder, Json source);
  kube::Async<> WriteObject(std::string folder, kube::Resource resource, Json source);
  kube::Async<> WriteToken(std::string folder, Json source);
  void WriteFields(const std::string& folder, const Json& source);
  kube::Result<> WriteIfNew(const std::string& path, const std::string& text);

  kube::Client& client_;
  Json pod_;
  std::string pod_ip_;
  std::string folder_;
  std::map<std::string, std::string> mounts_;   // path in the container -> folder here
  std::map<std::string, std::string> written_;  // file -> content
};

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/nodes.h"

#include "api/names.h"

namespace e2e {

using kube::Json;

Json MakeNode(const std::string& name, const std::string& architecture) {
  Json room = {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "5000"}, {"ephemeral-storage", "1Ti"}};
  Json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "MadeByHand"}};
  Json node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
  node["metadata"]["labels"] = {{"kubernetes.io/hostname", name},
                                {std::string(api::kArchLabel), architecture},
                                {std::string(api::kOsLabel), "linux"}};
  node["status"] = {{"capacity", room}, {"allocatable", room}};
  node["status"]["conditions"] = Json::array({ready});
  node["status"]["nodeInfo"] = {{"architecture", architecture},
                                {"operatingSystem", "linux"},
                                {"kubeletVersion", "v1.36.3"},
                                {"machineID", name},
                                {"systemUUID", name},
                                {"bootID", name},
                                {"kernelVersion", "none"},
                                {"osImage", "none"},
                                {"containerRuntimeVersion", "process://1"},
                                {"kubeProxyVersion", ""}};
  return node;
}

std::vector<Json> NodesOfEveryArchitecture() {
  std::vector<Json> nodes;
  for (const char* architecture : {kOwnArchitecture, "arm64", "ppc64le", "s390x"}) {
    nodes.push_back(MakeNode(std::string("node-") + architecture, architecture));
  }
  return nodes;
}

}  // namespace e2e

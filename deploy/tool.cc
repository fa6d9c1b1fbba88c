// SPDX-License-Identifier: Apache-2.0
#include "deploy/tool.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "api/user_agent.h"
#include "deploy/manifests.h"
#include "kube/client/new_client.h"

namespace deploy {

using kube::Json;
using kube::Result;

std::string KubeconfigPath(const std::string& flag) {
  if (!flag.empty()) return flag;
  const char* path = std::getenv("KUBECONFIG");
  if (path != nullptr && *path != '\0') return path;
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.kube/config";
}

Result<std::unique_ptr<kube::Client>> NewToolClient(kube::App& app, kube::ClientConfig config) {
  return kube::NewClient(app.executor(), app.clock(), std::move(config),
                         {.user_agent = api::UserAgent("deploy")});
}

Result<BuiltImages> FindImages(const std::vector<std::string>& packages,
                               const std::string& registry) {
  // A node has the image of its own architecture, a registry has the index of all.
  const std::string file = registry.empty() ? "/image.ref" : "/index.ref";
  const std::string prefix = (registry.empty() ? "localhost" : registry) + "/";
  BuiltImages built;
  for (const std::string& package : packages) {
    Result<ImageReference> image = ReadImageReference(package + file);
    if (!image) return image.error();
    const std::string program = image->name.substr(image->name.rfind('/') + 1);
    built.images[program] = prefix + image->name + ":" + image->tag;
    built.all_architectures = built.all_architectures && image->architectures == kAllArchitectures;
  }
  return built;
}

void AddComponent(const std::string& component, std::vector<std::string>& components) {
  if (std::count(components.begin(), components.end(), component) == 0)
    components.push_back(component);
}

void Print(const std::vector<kube::Unstructured>& objects) {
  Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array()}};
  for (const kube::Unstructured& object : objects) list["items"].push_back(object.body());
  std::cout << kube::PrettyJson(list) << std::endl;
}

}  // namespace deploy

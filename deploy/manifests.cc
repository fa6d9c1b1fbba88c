// SPDX-License-Identifier: Apache-2.0
#include "deploy/manifests.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "deploy/kustomization.h"
#include "kube/types/kinds.h"

namespace deploy {
namespace {

using kube::Error;
using kube::Json;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

constexpr std::string_view kLocalImages = "localhost/pod-placement/";

constexpr Resource kServiceMonitors{"monitoring.coreos.com", "v1", "servicemonitors",
                                    "ServiceMonitor"};
constexpr Resource kPodMonitors{"monitoring.coreos.com", "v1", "podmonitors", "PodMonitor"};
constexpr Resource kPrometheusRules{"monitoring.coreos.com", "v1", "prometheusrules",
                                    "PrometheusRule"};

constexpr Resource kKnown[] = {kube::kNamespaces,
                               kube::kResourceQuotas,
                               kube::kServiceAccounts,
                               kube::kServices,
                               kube::kSecrets,
                               kube::kConfigMaps,
                               kube::kDeployments,
                               kube::kNetworkPolicies,
                               kube::kClusterRoles,
                               kube::kClusterRoleBindings,
                               kube::kRoles,
                               kube::kRoleBindings,
                               kube::kCustomResourceDefinitions,
                               kube::kPodDisruptionBudgets,
                               kube::kValidatingAdmissionPolicies,
                               kube::kValidatingAdmissionPolicyBindings,
                               kPrometheusRules,
                               kServiceMonitors,
                               kPodMonitors};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error::NotFound("cannot read " + path);
  return text.str();
}

std::filesystem::path ComponentsOf(const ManifestSet& set) {
  return std::filesystem::path(set.folder) / "components";
}

// Replaces every text value in `value` that is a key of `replacements`.
void ReplaceTexts(const std::map<std::string, std::string>& replacements, Json& value) {
  if (value.is_string()) {
    auto found = replacements.find(value.get_ref<const std::string&>());
    if (found != replacements.end()) value = found->second;
  } else if (value.is_structured()) {
    for (Json& child : value) ReplaceTexts(replacements, child);
  }
}

}  // namespace

Result<std::vector<Unstructured>> LoadManifests(const ManifestSet& set,
                                                const ManifestOptions& options) {
  std::vector<Json> bodies;
  Result<> added = AddKustomization(set.folder + "/base", bodies);
  if (!added) return added.error();
  const std::filesystem::path components = ComponentsOf(set);
  for (const std::string& component : options.components) {
    added = AddKustomization((components / component).string(), bodies);
    if (!added) return added.error().Prefix("component " + component);
  }
  std::map<std::string, std::string> replacements;
  if (!options.ns.empty()) replacements[set.ns] = options.ns;
  for (const auto& [program, image] : options.images)
    replacements[std::string(kLocalImages) + program] = image;
  std::vector<Unstructured> objects;
  for (Json& body : bodies) {
    ReplaceTexts(replacements, body);
    objects.emplace_back(std::move(body));
  }
  return objects;
}

std::vector<std::string> ShippedComponents(const ManifestSet& set) {
  std::vector<std::string> names;
  std::error_code ignored;  // without the folder there are none
  for (const auto& entry : std::filesystem::directory_iterator(ComponentsOf(set), ignored))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<Resource> ResourceOfObject(const Unstructured& object) {
  std::string version = kube::StringAt(object.body(), "apiVersion");
  std::string kind = kube::StringAt(object.body(), "kind");
  for (const Resource& resource : kKnown) {
    if (resource.kind == kind && resource.ApiVersion() == version) return resource;
  }
  return Error::Invalid("a manifest has the unknown kind " + version + " " + kind);
}

std::string Describe(const Unstructured& object) {
  return kube::StringAt(object.body(), "kind") + " " + kube::KeyOf(object).ToString();
}

Result<ImageReference> ReadImageReference(const std::string& file) {
  Result<std::string> text = ReadFile(file);
  if (!text) return text.error();
  ImageReference reference;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string value = line.substr(equals + 1);
    std::string key = line.substr(0, equals);
    if (key == "NAME") reference.name = value;
    if (key == "TAG") reference.tag = value;
    if (key == "DIGEST") reference.digest = value;
    if (key == "ARCHITECTURES") reference.architectures = value;
  }
  if (reference.name.empty() || reference.tag.empty() || reference.digest.empty()) {
    return Error::Invalid(file + ": no image reference");
  }
  return reference;
}

}  // namespace deploy

// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/manifests.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/types/kinds.h"
#include "operator/deploy/kustomization.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

constexpr const char* kBase = "operator/manifests/base";
constexpr const char* kComponents = "operator/manifests/components";

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

Result<std::vector<Unstructured>> LoadManifests(const ManifestOptions& options) {
  std::vector<Json> bodies;
  Result<> added = AddKustomization(kBase, bodies);
  if (!added) return added.error();
  for (const std::string& component : options.components) {
    std::filesystem::path folder = std::filesystem::path(kComponents) / component;
    added = AddKustomization(folder.string(), bodies);
    if (!added) return added.error().Prefix("component " + component);
  }
  std::map<std::string, std::string> replacements{
      {std::string(api::kDefaultOperatorNamespace), options.ns}};
  for (const auto& [program, image] : options.images)
    replacements["localhost/pod-placement/" + program] = image;
  std::vector<Unstructured> objects;
  for (Json& body : bodies) {
    ReplaceTexts(replacements, body);
    objects.emplace_back(std::move(body));
  }
  return objects;
}

std::vector<std::string> ShippedComponents() {
  std::vector<std::string> names;
  std::error_code ignored;  // without the folder there are none
  for (const auto& entry : std::filesystem::directory_iterator(kComponents, ignored))
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

}  // namespace operator_

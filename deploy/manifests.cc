// SPDX-License-Identifier: Apache-2.0
#include "deploy/manifests.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string_view>

#include "kube/base/spawn.h"
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

Result<Json> ReadManifests(const ManifestSet& set) {
  Result<std::string> text = ReadFile(set.file);
  if (!text) return text.error();
  return kube::ParseJson(*text);
}

// The component in `folder`, as kustomization.py renders it.
Result<Json> RenderComponent(const std::string& folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::Unavailable("no pipe");
  Result<pid_t> pid = kube::Spawn(
      {.argv = {"python3", "deploy/kustomization.py", "--component=" + folder}, .output = ends[1]});
  ::close(ends[1]);
  std::string text;
  char chunk[4096];
  for (ssize_t size; (size = ::read(ends[0], chunk, sizeof chunk)) > 0;) text.append(chunk, size);
  ::close(ends[0]);
  if (!pid) return pid.error();
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (kube::ExitCode(status) != 0) return Error::Invalid("not rendered");  // it has printed why
  return kube::ParseJson(text);
}

// Adds the objects of `component` and applies its patches to all of `objects`.
Result<> Add(Json component, std::vector<Json>& objects) {
  for (Json& object : component["objects"]) objects.push_back(std::move(object));
  for (const Json& patch : component["patches"]) {
    const Json& target = patch["target"];
    bool found = false;
    for (Json& object : objects) {
      if (object["kind"] != target["kind"] || object["metadata"]["name"] != target["name"])
        continue;
      found = true;
      try {
        object = object.patch(patch["operations"]);
      } catch (const Json::exception& error) {  // the library has no other report
        return Error::Invalid("patch of " + kube::DumpJson(target) + ": " + error.what());
      }
    }
    if (!found)
      return Error::Invalid("no object is the target of the patch " + kube::DumpJson(target));
  }
  return kube::Ok();
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
  Result<Json> manifests = ReadManifests(set);
  if (!manifests) return manifests.error();
  Json& shipped = (*manifests)["components"];
  std::vector<Json> bodies = (*manifests)["base"];
  for (const std::string& name : options.components) {
    if (!name.starts_with('/') && !shipped.contains(name))
      return Error::NotFound("there is no component " + name);
    Result<Json> component = name.starts_with('/') ? RenderComponent(name) : shipped[name];
    if (!component) return component.error().Prefix("component " + name);
    Result<> added = Add(std::move(*component), bodies);
    if (!added) return added.error().Prefix("component " + name);
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
  Result<Json> manifests = ReadManifests(set);
  if (!manifests) return names;  // LoadManifests() reports the error
  for (const auto& [name, component] : (*manifests)["components"].items()) names.push_back(name);
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

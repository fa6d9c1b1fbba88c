// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/manifests.h"

#include <fstream>
#include <sstream>

#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

constexpr Resource kKnown[] = {kube::kNamespaces,
                               kube::kResourceQuotas,
                               kube::kServiceAccounts,
                               kube::kServices,
                               kube::kDeployments,
                               kube::kNetworkPolicies,
                               kube::kClusterRoles,
                               kube::kClusterRoleBindings,
                               kube::kRoles,
                               kube::kRoleBindings,
                               kube::kCustomResourceDefinitions};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error::NotFound("cannot read " + path);
  return text.str();
}

}  // namespace

Result<std::string> Substitute(const std::string& text,
                               const std::map<std::string, std::string>& values) {
  std::string out;
  size_t at = 0;
  while (true) {
    size_t open = text.find("${", at);
    out.append(text, at, open - at);
    if (open == std::string::npos) return out;
    size_t close = text.find('}', open);
    if (close == std::string::npos) return Error::Invalid("a ${ without }");
    std::string name = text.substr(open + 2, close - open - 2);
    auto value = values.find(name);
    if (value == values.end()) return Error::Invalid("no value for ${" + name + "}");
    out += value->second;
    at = close + 1;
  }
}

Result<std::vector<Unstructured>> LoadManifests(const std::vector<std::string>& files,
                                                const std::map<std::string, std::string>& values) {
  std::vector<Unstructured> objects;
  for (const std::string& file : files) {
    Result<std::string> text = ReadFile(file);
    if (!text) return text.error();
    Result<std::string> filled = Substitute(*text, values);
    if (!filled) return filled.error().Prefix(file);
    Result<std::vector<kube::Json>> documents = kube::ParseYamlDocuments(*filled);
    if (!documents) return documents.error().Prefix(file);
    for (kube::Json& document : *documents) objects.emplace_back(std::move(document));
  }
  return objects;
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
  }
  if (reference.name.empty() || reference.tag.empty() || reference.digest.empty()) {
    return Error::Invalid(file + ": no image reference");
  }
  return reference;
}

}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
#include "deploy/kustomization.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/codec/yaml.h"

namespace deploy {
namespace {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

// Kustomizations that name each other would never end.
constexpr int kMaxDepth = 8;

Result<std::vector<Json>> ReadYaml(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error::NotFound("cannot read " + path);
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(text.str());
  if (!documents) return documents.error().Prefix(path);
  return documents;
}

std::string PathIn(const std::string& folder, const std::string& relative) {
  return (std::filesystem::path(folder) / relative).lexically_normal().string();
}

Result<std::vector<std::string>> StringsOf(const Json& file, const char* field) {
  std::vector<std::string> strings;
  for (const Json& value : file.value(field, Json::array())) {
    if (!value.is_string()) return Error::Invalid(std::string(field) + " must be a list of paths");
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

// The operations of an entry of `patches`: inline, or in a file.
Result<Json> OperationsOf(const std::string& folder, const Json& entry) {
  Result<std::vector<Json>> documents =
      entry.contains("path") ? ReadYaml(PathIn(folder, kube::StringAt(entry, "path")))
                             : kube::ParseYamlDocuments(kube::StringAt(entry, "patch"));
  if (!documents) return documents.error();
  if (documents->size() != 1 || !documents->front().is_array())
    return Error::Invalid("a patch must be a list of JSON patch operations");
  return documents->front();
}

bool IsTarget(const Json& target, const Json& object) {
  return kube::StringAt(object, "kind") == kube::StringAt(target, "kind") &&
         kube::StringAt(object, "metadata.name") == kube::StringAt(target, "name");
}

Result<> ApplyPatch(const std::string& folder, const Json& entry, std::vector<Json>& objects) {
  for (const auto& [field, value] : entry.items()) {
    if (field != "path" && field != "patch" && field != "target")
      return Error::Invalid("patches: the field " + field + " is not supported");
  }
  const Json target = entry.value("target", Json::object());
  if (target.size() != 2 || !target.contains("kind") || !target.contains("name"))
    return Error::Invalid("patches: a target must have a kind and a name, and nothing else");
  Result<Json> operations = OperationsOf(folder, entry);
  if (!operations) return operations.error();

  bool found = false;
  for (Json& object : objects) {
    if (!IsTarget(target, object)) continue;
    found = true;
    try {
      object = object.patch(*operations);
    } catch (const Json::exception& error) {  // the library has no other report
      return Error::Invalid("patch of " + kube::DumpJson(target) + ": " + error.what());
    }
  }
  if (!found)
    return Error::Invalid("no object is the target of the patch " + kube::DumpJson(target));
  return Ok();
}

Result<> Add(const std::string& folder, int depth, std::vector<Json>& objects);

Result<> AddResource(const std::string& path, int depth, std::vector<Json>& objects) {
  if (std::filesystem::is_directory(path)) return Add(path, depth + 1, objects);
  Result<std::vector<Json>> documents = ReadYaml(path);
  if (!documents) return documents.error();
  for (Json& document : *documents) objects.push_back(std::move(document));
  return Ok();
}

Result<> AddParts(const Json& file, const std::string& folder, int depth,
                  std::vector<Json>& objects) {
  for (const auto& [field, value] : file.items()) {
    bool known = field == "apiVersion" || field == "kind" || field == "configurations" ||
                 field == "resources" || field == "components" || field == "patches";
    if (!known) return Error::Invalid("the field " + field + " is not supported");
  }
  for (const char* list : {"resources", "components"}) {
    Result<std::vector<std::string>> paths = StringsOf(file, list);
    if (!paths) return paths.error();
    for (const std::string& path : *paths) {
      Result<> added = AddResource(PathIn(folder, path), depth, objects);
      if (!added) return added;
    }
  }
  for (const Json& entry : file.value("patches", Json::array())) {
    Result<> patched = ApplyPatch(folder, entry, objects);
    if (!patched) return patched;
  }
  return Ok();
}

Result<> Add(const std::string& folder, int depth, std::vector<Json>& objects) {
  const std::string path = PathIn(folder, "kustomization.yaml");
  if (depth > kMaxDepth) return Error::Invalid(path + ": too many levels");
  Result<std::vector<Json>> documents = ReadYaml(path);
  if (!documents) return documents.error();
  if (documents->size() != 1 || !documents->front().is_object())
    return Error::Invalid(path + ": not one document");
  Result<> added = AddParts(documents->front(), folder, depth, objects);
  if (!added) return added.error().Prefix(path);
  return Ok();
}

}  // namespace

Result<> AddKustomization(const std::string& folder, std::vector<Json>& objects) {
  return Add(folder, 0, objects);
}

}  // namespace deploy

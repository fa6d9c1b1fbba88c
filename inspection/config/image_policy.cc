// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/image_policy.h"

#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr size_t kMaxScopes = 10'000;

// The scopes of an image, the most specific one first.
std::vector<std::string> ScopesOf(const Reference& reference) {
  std::vector<std::string> scopes;
  std::string name = reference.Name();
  if (!reference.digest.empty()) scopes.push_back(name + "@" + reference.digest);
  if (!reference.tag.empty()) scopes.push_back(name + ":" + reference.tag);
  for (std::string path = name;;) {
    scopes.push_back(path);
    size_t slash = path.rfind('/');
    if (slash == std::string::npos) break;
    path.resize(slash);
  }
  for (size_t dot = reference.registry.find('.'); dot != std::string::npos;
       dot = reference.registry.find('.', dot + 1)) {
    scopes.push_back("*" + reference.registry.substr(dot));
  }
  return scopes;
}

}  // namespace

Result<ImagePolicy> ImagePolicy::Parse(std::string_view json) {
  ImagePolicy policy;
  if (json.empty()) return policy;
  Result<Json> document = kube::ParseJson(json);
  if (!document) return document.error().Prefix("policy.json");

  // All requirements of a scope must be met, so the strictest one decides.
  auto read = [](const Json* list, const std::string& scope) -> Result<Requirement> {
    if (list == nullptr || !list->is_array() || list->empty()) {
      return Error::Invalid("policy.json: scope \"" + scope + "\" has no requirements");
    }
    Requirement strictest = Requirement::kAccept;
    for (const Json& entry : *list) {
      std::string type = kube::StringAt(entry, "type");
      if (type == "reject") {
        strictest = Requirement::kReject;
      } else if (type == "signedBy" || type == "signedBaseLayer" || type == "sigstoreSigned") {
        if (strictest == Requirement::kAccept) strictest = Requirement::kSignature;
      } else if (type != "insecureAcceptAnything") {
        return Error::Invalid("policy.json: scope \"" + scope +
                              "\" has the unknown requirement \"" + type + "\"");
      }
    }
    return strictest;
  };

  Result<Requirement> by_default = read(kube::Find(*document, "default"), "default");
  if (!by_default) return by_default.error();
  policy.default_ = *by_default;
  const Json* docker = kube::Find(*document, "transports.docker");
  if (docker == nullptr) return policy;
  if (!docker->is_object() || docker->size() > kMaxScopes)
    return Error::Invalid(
        "policy.json: transports.docker is not an object, or has too many scopes");
  for (auto& [scope, list] : docker->items()) {
    Result<Requirement> requirement = read(&list, scope);
    if (!requirement) return requirement.error();
    if (scope.empty()) {
      policy.default_ = *requirement;
    } else {
      policy.scopes_[scope] = *requirement;
    }
  }
  return policy;
}

void ImagePolicy::AllowOnly(const std::vector<std::string>& scopes) {
  default_ = Requirement::kReject;
  for (const std::string& scope : scopes) scopes_.emplace(scope, Requirement::kAccept);
}

Result<void> ImagePolicy::Check(const Reference& reference) const {
  Requirement requirement = default_;
  std::string decided_by = "default";
  for (const std::string& scope : ScopesOf(reference)) {
    auto found = scopes_.find(scope);
    if (found == scopes_.end()) continue;
    requirement = found->second;
    decided_by = scope;
    break;
  }
  switch (requirement) {
    case Requirement::kAccept:
      return kube::Ok();
    case Requirement::kReject:
      return Error::PermissionDenied("policy.json rejects images of scope " + decided_by);
    case Requirement::kSignature:
      return Error::PermissionDenied("policy.json requires signatures for scope " + decided_by +
                                     ", which the operator cannot verify");
  }
  return Error::Internal("policy.json");
}

}  // namespace inspection

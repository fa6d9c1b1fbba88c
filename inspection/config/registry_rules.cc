// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/registry_rules.h"

#include "kube/types/list_at.h"

namespace inspection {
namespace {

using kube::Json;

constexpr size_t kMaxItems = 1024;

std::vector<std::string> StringsAt(const Json& object, const char* path) {
  std::vector<std::string> strings;
  for (const Json& item : kube::ListAt(object, path)) {
    if (item.is_string() && strings.size() < kMaxItems) strings.push_back(item.get<std::string>());
  }
  return strings;
}

void AddMirrors(const Json& object, const char* path, bool for_digests, RegistryRules& rules) {
  for (const Json& item : kube::ListAt(object, path)) {
    MirrorRule rule{
        .source = kube::StringAt(item, "source"),
        .mirrors = StringsAt(item, "mirrors"),
        .for_digests = for_digests,
        .never_source = kube::StringAt(item, "mirrorSourcePolicy") == "NeverContactSource"};
    if (rule.source.empty() || rules.mirrors.size() == kMaxItems) continue;
    rules.mirrors.push_back(std::move(rule));
  }
}

}  // namespace

void AddContentSourcePolicy(const Json& object, RegistryRules& rules) {
  AddMirrors(object, "spec.repositoryDigestMirrors", /*for_digests=*/true, rules);
}

void AddDigestMirrorSet(const Json& object, RegistryRules& rules) {
  AddMirrors(object, "spec.imageDigestMirrors", /*for_digests=*/true, rules);
}

void AddTagMirrorSet(const Json& object, RegistryRules& rules) {
  AddMirrors(object, "spec.imageTagMirrors", /*for_digests=*/false, rules);
}

void AddImageConfig(const Json& object, RegistryRules& rules) {
  rules.insecure = StringsAt(object, "spec.registrySources.insecureRegistries");
  rules.blocked = StringsAt(object, "spec.registrySources.blockedRegistries");
  rules.allowed = StringsAt(object, "spec.registrySources.allowedRegistries");
  rules.search = StringsAt(object, "spec.registrySources.containerRuntimeSearchRegistries");
}

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
// RegistriesConfig: the places to pull an image from, by registries.conf (version 2).
//
//   Result<RegistriesConfig> config = RegistriesConfig::Parse(toml);
//   Result<std::vector<PullSource>> sources = config->Sources(reference);   // mirrors first
//
// Supported: [[registry]] with prefix (also "*.example.com"), location, insecure, blocked,
// mirror-by-digest-only and [[registry.mirror]] with location, insecure, pull-from-mirror;
// [aliases], unqualified-search-registries, short-name-mode. Without configuration, images come
// from the registry in their name. Source: containers-registries.conf(5).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/base/reference.h"
#include "inspection/config/pull_source.h"
#include "inspection/config/registry_rules.h"
#include "kube/base/error.h"

namespace inspection {

class RegistriesConfig {
 public:
  RegistriesConfig() = default;

  // kInvalid names the line: invalid TOML, values of a wrong type, invalid locations, version 1
  // files.
  static kube::Result<RegistriesConfig> Parse(std::string_view toml);

  // Adds a drop-in file (registries.conf.d): its entries replace the ones with the same prefix, its
  // aliases the ones with the same name, its other settings the previous ones.
  void Merge(RegistriesConfig later);

  // Adds the rules of an OpenShift cluster. Their mirrors come after the present ones; scopes that
  // are not a registry's are skipped.
  void Add(const RegistryRules& rules);

  // The hosts ("host" or "host:port") in the configuration: locations, mirrors and search
  // registries without patterns and blocked registries.
  std::set<std::string> Hosts() const;

  // Returns: at least one, at most 32, in the order in which to use them. Errors: kPermissionDenied
  // if the registry is blocked and has no mirror; kInvalid for a short name that short-name-mode
  // forbids, and where the name at a mirror or location is not a valid image name.
  kube::Result<std::vector<PullSource>> Sources(const Reference& reference) const;

 private:
  enum class PullFrom { kAll, kDigestOnly, kTagOnly };
  struct Mirror {
    std::string location;
    bool insecure = false;
    PullFrom pull_from = PullFrom::kAll;
  };
  struct Registry {
    std::string prefix;
    std::string location;
    bool insecure = false;
    bool blocked = false;
    bool mirror_by_digest_only = false;
    std::vector<Mirror> mirrors;
  };
  class Parser;

  Registry* EntryFor(const std::string& prefix);
  const Registry* Find(std::string_view name, size_t* matched) const;
  kube::Result<> AddSources(const std::string& name, bool by_digest,
                            std::vector<PullSource>& sources) const;
  kube::Result<std::vector<std::string>> Candidates(const Reference& reference) const;

  std::vector<Registry> registries_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::optional<std::vector<std::string>> search_;
  enum class ShortNameMode { kDisabled, kPermissive, kEnforcing };
  std::optional<ShortNameMode> short_name_mode_;
};

}  // namespace inspection

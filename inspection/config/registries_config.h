// SPDX-License-Identifier: Apache-2.0
// RegistriesConfig: where an image is really pulled from, by the nodes' registries.conf (version
// 2).
//
//   Result<RegistriesConfig> config = RegistriesConfig::Parse(toml);
//   Result<std::vector<PullSource>> sources = config->Sources(reference);   // mirrors first, try
//   in order
//
// Known: [[registry]] with prefix (also "*.example.com"), location, insecure, blocked,
// mirror-by-digest-only and
// [[registry.mirror]] with location, insecure, pull-from-mirror; [aliases],
// unqualified-search-registries, short-name-mode. An empty configuration sends every image to the
// registry in its name. Source: containers-registries.conf(5).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/config/pull_source.h"
#include "inspection/config/registry_rules.h"
#include "inspection/reference.h"
#include "kube/base/error.h"

namespace inspection {

class RegistriesConfig {
 public:
  RegistriesConfig() = default;

  // kInvalid with the line, for bad TOML, values of a wrong type, bad locations and version 1
  // files.
  static kube::Result<RegistriesConfig> Parse(std::string_view toml);

  // Adds what a drop-in file (registries.conf.d) says: its entries replace those of the same
  // prefix, its aliases those of the same name, its other settings those made so far.
  void Merge(RegistriesConfig later);

  // Adds what the objects of an OpenShift cluster say. Mirrors come after those that are there
  // already; scopes that are no registry's are left out.
  void Add(const RegistryRules& rules);

  // The hosts ("host" or "host:port") that are named here: locations, mirrors, search registries;
  // patterns and what is blocked are not.
  std::set<std::string> Hosts() const;

  // At least one, at most 32. Errors: kPermissionDenied if the registry is blocked and no mirror is
  // left; kInvalid for a short name that short-name-mode forbids, and where a mirror or location
  // makes no image's name of this one.
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

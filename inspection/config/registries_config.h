// SPDX-License-Identifier: Apache-2.0
// RegistriesConfig: where an image is really pulled from, by the nodes' registries.conf (version 2).
//
//   Result<RegistriesConfig> config = RegistriesConfig::Parse(toml);
//   Result<std::vector<PullSource>> sources = config->Sources(reference);   // mirrors first, try in order
//
// Known: [[registry]] with prefix (also "*.example.com"), location, insecure, blocked, mirror-by-digest-only and
// [[registry.mirror]] with location, insecure, pull-from-mirror; [aliases], unqualified-search-registries,
// short-name-mode. An empty configuration sends every image to the registry in its name.
// Source: containers-registries.conf(5).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/reference.h"
#include "kube/base/error.h"

namespace inspection {

struct PullSource {
  std::string registry;    // host[:port]
  std::string repository;
  bool insecure = false;   // any certificate will do, plain HTTP as well
  std::string why;         // "mirror of quay.io", for people
};

class RegistriesConfig {
 public:
  RegistriesConfig() = default;

  // kInvalid with the line, for bad TOML, values of a wrong type, bad locations and version 1 files.
  static kube::Result<RegistriesConfig> Parse(std::string_view toml);

  // At least one, at most 32. Errors: kPermissionDenied if the registry is blocked and no mirror is left; kInvalid for
  // a short name that short-name-mode forbids.
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

  const Registry* Find(std::string_view name, size_t* matched) const;
  void AddSources(const std::string& name, bool by_digest, std::vector<PullSource>& sources) const;
  kube::Result<std::vector<std::string>> Candidates(const Reference& reference) const;

  std::vector<Registry> registries_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::vector<std::string> search_;
  enum class ShortNameMode { kDisabled, kPermissive, kEnforcing } short_name_mode_ = ShortNameMode::kPermissive;
};

}  // namespace inspection

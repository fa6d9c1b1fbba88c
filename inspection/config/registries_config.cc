// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/registries_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "inspection/config/toml_reader.h"

namespace inspection {

using kube::Error;
using kube::Result;

namespace {

constexpr size_t kMaxRegistries = 4096;
constexpr size_t kMaxSources = 32;

// Whether a component of `name` ends at `at`.
bool EndsComponent(std::string_view name, size_t at) {
  return at == name.size() || name[at] == ':' || name[at] == '/' || name[at] == '@';
}

// The number of characters of `name` that `prefix` matches; 0 for no match.
size_t MatchLength(std::string_view prefix, std::string_view name) {
  if (!prefix.starts_with("*."))
    return name.starts_with(prefix) && EndsComponent(name, prefix.size()) ? prefix.size() : 0;
  // "*.example.com" matches hosts below example.com, at any depth.
  std::string_view tail = prefix.substr(1);
  size_t at = name.find(tail);
  if (at == 0 || at == std::string_view::npos ||
      name.substr(0, at).find('/') != std::string_view::npos)
    return 0;
  return EndsComponent(name, at + tail.size()) ? at + tail.size() : 0;
}

bool IsLocation(std::string_view text) {
  size_t slash = text.find('/');
  if (!IsRegistryHost(text.substr(0, slash))) return false;
  return slash == std::string_view::npos || IsRepository(text.substr(slash + 1));
}

bool IsPrefix(std::string_view text) {
  return text.starts_with("*.") ? IsLocation("x" + std::string(text.substr(1))) : IsLocation(text);
}

std::string_view HostOf(std::string_view name) { return name.substr(0, name.find('/')); }

}  // namespace

class RegistriesConfig::Parser : private TomlReader {
 public:
  Parser() : TomlReader("registries.conf ") {}

  Result<RegistriesConfig> Parse(std::string_view text) {
    Result<toml::table> parsed = ParseToml(text);
    if (!parsed) return parsed.error();
    const toml::table& file = *parsed;
    if (file.contains("registries"))
      return Fail(file.source(), "version 1 of the format is not supported");
    ReadShortNames(file);
    ReadRegistries(file);
    if (error()) return *error();
    return std::move(config_);
  }

 private:
  void ReadShortNames(const toml::table& file) {
    if (const toml::array* search = ArrayAt(file, "unqualified-search-registries")) {
      config_.search_.emplace();
      for (const toml::node& node : *search) {
        std::optional<std::string> host = node.value_exact<std::string>();
        if (!host || !IsRegistryHost(*host))
          return Refuse(node, "unqualified-search-registries: not a registry");
        config_.search_->push_back(std::move(*host));
      }
    }
    std::string mode = StringAt(file, "short-name-mode");
    if (mode == "disabled") {
      config_.short_name_mode_ = ShortNameMode::kDisabled;
    } else if (mode == "enforcing") {
      config_.short_name_mode_ = ShortNameMode::kEnforcing;
    } else if (mode == "permissive") {
      config_.short_name_mode_ = ShortNameMode::kPermissive;
    } else if (!mode.empty()) {
      Refuse(file, "short-name-mode: not disabled, permissive or enforcing");
    }
    const toml::node* aliases = file.get("aliases");
    if (aliases == nullptr) return;
    if (!aliases->is_table()) return Refuse(*aliases, "aliases: not a table");
    for (const auto& [name, value] : *aliases->as_table()) {
      std::optional<std::string> target = value.value_exact<std::string>();
      if (!target || (!target->empty() && !IsLocation(*target)))
        return Refuse(value, "aliases: not an image name");
      if (!target->empty()) config_.aliases_.emplace(std::string(name.str()), std::move(*target));
    }
  }

  void ReadRegistries(const toml::table& file) {
    const toml::array* list = ArrayAt(file, "registry");
    if (list == nullptr) return;
    if (list->size() > kMaxRegistries) return Refuse(*list, "more than 4096 registries");
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (table == nullptr) return Refuse(node, "registry: not a table");
      Registry registry;
      registry.location = LocationAt(*table);
      registry.prefix = StringAt(*table, "prefix");
      while (registry.prefix.ends_with('/')) registry.prefix.pop_back();
      if (registry.prefix.empty()) registry.prefix = registry.location;
      if (!IsPrefix(registry.prefix)) return Refuse(node, "registry: no valid prefix or location");
      if (registry.location.empty() && !registry.prefix.starts_with("*."))
        registry.location = registry.prefix;
      registry.insecure = BoolAt(*table, "insecure");
      registry.blocked = BoolAt(*table, "blocked");
      registry.mirror_by_digest_only = BoolAt(*table, "mirror-by-digest-only");
      ReadMirrors(*table, registry);
      config_.registries_.push_back(std::move(registry));
    }
  }

  void ReadMirrors(const toml::table& table, Registry& registry) {
    const toml::array* list = ArrayAt(table, "mirror");
    if (list == nullptr) return;
    for (const toml::node& node : *list) {
      const toml::table* item = node.as_table();
      if (item == nullptr) return Refuse(node, "mirror: not a table");
      Mirror mirror;
      mirror.location = LocationAt(*item);
      if (mirror.location.empty()) return Refuse(node, "mirror without location");
      mirror.insecure = BoolAt(*item, "insecure");
      std::string pull_from = StringAt(*item, "pull-from-mirror");
      if (pull_from == "digest-only" || registry.mirror_by_digest_only) {
        mirror.pull_from = PullFrom::kDigestOnly;
      } else if (pull_from == "tag-only") {
        mirror.pull_from = PullFrom::kTagOnly;
      } else if (!pull_from.empty() && pull_from != "all") {
        return Refuse(node, "pull-from-mirror: not all, digest-only or tag-only");
      }
      registry.mirrors.push_back(std::move(mirror));
    }
  }

  const toml::array* ArrayAt(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array()) Refuse(*node, std::string(key) + ": not a list");
    return node->as_array();
  }
  std::string LocationAt(const toml::table& table) {
    std::string location = StringAt(table, "location");
    while (location.ends_with('/')) location.pop_back();
    if (!location.empty() && !IsLocation(location))
      Refuse(table, "location: not host[:port][/path]");
    return location;
  }

  RegistriesConfig config_;
};

Result<RegistriesConfig> RegistriesConfig::Parse(std::string_view toml) {
  return Parser().Parse(toml);
}

void RegistriesConfig::Merge(RegistriesConfig later) {
  for (Registry& registry : later.registries_) {
    std::erase_if(registries_,
                  [&](const Registry& before) { return before.prefix == registry.prefix; });
    registries_.push_back(std::move(registry));
  }
  later.aliases_.merge(aliases_);
  aliases_ = std::move(later.aliases_);
  if (later.search_) search_ = std::move(later.search_);
  if (later.short_name_mode_) short_name_mode_ = later.short_name_mode_;
}

// The entry with exactly this prefix, which is added if there is none; nullptr for an invalid
// prefix, or without room.
RegistriesConfig::Registry* RegistriesConfig::EntryFor(const std::string& prefix) {
  if (!IsPrefix(prefix)) return nullptr;
  for (Registry& registry : registries_) {
    if (registry.prefix == prefix) return &registry;
  }
  if (registries_.size() == kMaxRegistries) return nullptr;
  // The new entry inherits `insecure` from the entry that matched so far.
  size_t ignored = 0;
  const Registry* wider =
      Find(prefix.starts_with("*.") ? "x" + prefix.substr(1) : prefix, &ignored);
  Registry added{.prefix = prefix, .location = prefix.starts_with("*.") ? "" : prefix};
  if (wider != nullptr) added.insecure = wider->insecure;
  registries_.push_back(std::move(added));
  return &registries_.back();
}

void RegistriesConfig::Add(const RegistryRules& rules) {
  for (const MirrorRule& rule : rules.mirrors) {
    Registry* registry = EntryFor(rule.source);
    if (registry == nullptr) continue;
    registry->blocked |= rule.never_source;
    for (const std::string& location : rule.mirrors) {
      if (!IsLocation(location)) continue;
      PullFrom pull_from = rule.for_digests ? PullFrom::kDigestOnly : PullFrom::kTagOnly;
      registry->mirrors.push_back(
          {.location = location, .insecure = false, .pull_from = pull_from});
    }
  }
  // A scope includes the entries and mirrors below it.
  for (const std::string& scope : rules.insecure) {
    if (Registry* own = EntryFor(scope); own != nullptr) own->insecure = true;
    for (Registry& registry : registries_) {
      if (MatchLength(scope, registry.prefix) > 0) registry.insecure = true;
      for (Mirror& mirror : registry.mirrors)
        mirror.insecure |= MatchLength(scope, mirror.location) > 0;
    }
  }
  for (const std::string& scope : rules.blocked) {
    if (Registry* own = EntryFor(scope); own != nullptr) own->blocked = true;
    for (Registry& registry : registries_)
      registry.blocked |= MatchLength(scope, registry.prefix) > 0;
  }
  if (rules.search.empty()) return;
  search_.emplace();
  for (const std::string& host : rules.search) {
    if (IsRegistryHost(host)) search_->push_back(host);
  }
}

std::set<std::string> RegistriesConfig::Hosts() const {
  std::set<std::string> hosts;
  for (const Registry& registry : registries_) {
    if (!registry.blocked && !registry.location.empty()) hosts.emplace(HostOf(registry.location));
    if (!registry.blocked && !registry.prefix.starts_with("*."))
      hosts.emplace(HostOf(registry.prefix));
    for (const Mirror& mirror : registry.mirrors) hosts.emplace(HostOf(mirror.location));
  }
  if (search_) hosts.insert(search_->begin(), search_->end());
  return hosts;
}

// The entry with the longest prefix; of two with the same length, a plain host before a wildcard.
const RegistriesConfig::Registry* RegistriesConfig::Find(std::string_view name,
                                                         size_t* matched) const {
  const Registry* best = nullptr;
  for (const Registry& registry : registries_) {
    size_t length = MatchLength(registry.prefix, name);
    auto rank = [](const Registry& entry) {
      return std::pair(entry.prefix.size(), !entry.prefix.starts_with('*'));
    };
    if (length == 0 || (best != nullptr && rank(registry) <= rank(*best))) continue;
    best = &registry;
    *matched = length;
  }
  return best;
}

Result<> RegistriesConfig::AddSources(const std::string& name, bool by_digest,
                                      std::vector<PullSource>& sources) const {
  auto add = [&](const std::string& physical, bool insecure, std::string reason) -> Result<> {
    if (sources.size() == kMaxSources) return kube::Ok();
    // The place itself may be blocked, whatever name led to it.
    size_t ignored = 0;
    const Registry* own = Find(physical, &ignored);
    if (own != nullptr && own->blocked) return kube::Ok();
    size_t slash = physical.find('/');
    // Replacing "a" with "b:1" turns "a:2/app" into "b:1:2/app"; replacing "a/app" with "b" leaves
    // a host only.
    if (slash == std::string::npos || !IsLocation(physical)) {
      return Error::Invalid("registries.conf, " + reason + ": " + physical +
                            " is not the name of an image");
    }
    PullSource source{
        physical.substr(0, slash), physical.substr(slash + 1), insecure, std::move(reason), {}};
    if (source.registry == kDockerHub && source.repository.find('/') == std::string::npos) {
      source.repository.insert(0, "library/");
    }
    sources.push_back(std::move(source));
    return kube::Ok();
  };
  size_t matched = 0;
  const Registry* registry = Find(name, &matched);
  if (registry == nullptr) return add(name, false, "named by the image");
  std::string rest = name.substr(matched);
  for (const Mirror& mirror : registry->mirrors) {
    if (mirror.pull_from == (by_digest ? PullFrom::kTagOnly : PullFrom::kDigestOnly)) continue;
    Result<> added = add(mirror.location + rest, mirror.insecure, "mirror of " + registry->prefix);
    if (!added) return added;
  }
  bool moved = !registry->location.empty() && registry->location != registry->prefix;
  if (!moved) return add(name, registry->insecure, "named by the image");
  return add(registry->location + rest, registry->insecure, "location of " + registry->prefix);
}

// The full names that `reference` may mean.
Result<std::vector<std::string>> RegistriesConfig::Candidates(const Reference& reference) const {
  if (!reference.short_name) return std::vector<std::string>{reference.Name()};
  std::string path = reference.repository;
  // Reference added "library/", which is Docker Hub's default only.
  if (path.starts_with("library/") && path.find('/', 8) == std::string::npos) path.erase(0, 8);
  auto alias = aliases_.find(path);
  if (alias != aliases_.end()) return std::vector<std::string>{alias->second};
  if (!search_ || search_->empty()) return std::vector<std::string>{reference.Name()};
  if (search_->size() > 1 && short_name_mode_ == ShortNameMode::kEnforcing) {
    return Error::Invalid("short name " + path +
                          " is ambiguous: short-name-mode is enforcing, with " +
                          std::to_string(search_->size()) + " search registries");
  }
  std::vector<std::string> names;
  for (const std::string& host : *search_) names.push_back(host + "/" + path);
  return names;
}

Result<std::vector<PullSource>> RegistriesConfig::Sources(const Reference& reference) const {
  Result<std::vector<std::string>> names = Candidates(reference);
  if (!names) return names.error();
  std::vector<PullSource> sources;
  for (const std::string& name : *names) {
    if (Result<> added = AddSources(name, !reference.digest.empty(), sources); !added)
      return added.error();
  }
  if (sources.empty()) {
    return Error::PermissionDenied("registry " + std::string(HostOf(names->front())) +
                                   " is blocked by the registries configuration");
  }
  return sources;
}

}  // namespace inspection

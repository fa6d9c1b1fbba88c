// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/containerd_hosts.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "inspection/base/reference.h"
#include "inspection/config/toml_reader.h"
#include "kube/client/read_file.h"
#include "kube/http/field.h"
#include "kube/http/url.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Result;
namespace fs = std::filesystem;

constexpr size_t kMaxFolders = 4096;
constexpr size_t kMaxHosts = 32;
constexpr size_t kMaxHeaders = 64;
constexpr char kDefault[] = "_default";

// "host_5000_" -> "host:5000"
std::string RegistryOf(const std::string& folder) {
  if (!folder.ends_with('_')) return folder;
  size_t port = folder.rfind('_', folder.size() - 2);
  if (port == std::string::npos) return folder;
  return folder.substr(0, port) + ":" + folder.substr(port + 1, folder.size() - port - 2);
}

// Stricter than the protocol.
bool IsHeaderName(std::string_view text) {
  return kube::IsToken(text) && text.find_first_of("!#$%&'*+.^`|~") == std::string_view::npos;
}

bool IsHeaderValue(std::string_view text) {
  return kube::IsFieldValue(text) && text.find('\t') == std::string_view::npos;
}

class HostsParser : private TomlReader {
 public:
  HostsParser() : TomlReader("") {}

  Result<std::vector<ContainerdHost>> Parse(std::string_view text) {
    Result<toml::table> parsed = ParseToml(text);
    if (!parsed) return parsed.error();
    const toml::table& file = *parsed;
    const toml::node* hosts = file.get("host");
    if (hosts != nullptr && !hosts->is_table()) return Fail(hosts->source(), "host: not a table");

    // toml++ sorts by name; the order of the file counts.
    struct Item {
      std::string url;
      const toml::table* table;
    };
    std::vector<Item> items;
    if (hosts != nullptr) {
      for (const auto& [url, node] : *hosts->as_table()) {
        if (!node.is_table()) return Fail(node.source(), "host: not a table");
        items.push_back({std::string(url.str()), node.as_table()});
      }
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      auto at = [](const Item& item) {
        toml::source_position where = item.table->source().begin;
        return std::pair(where.line, where.column);
      };
      return at(a) < at(b);
    });
    if (items.size() > kMaxHosts) return Fail(file.source(), "more than 32 hosts");
    std::vector<ContainerdHost> all;
    for (const Item& item : items) all.push_back(ReadHost(item.url, *item.table));
    if (const toml::node* server = file.get("server")) {
      all.push_back(ReadHost(StringOf(*server, "server"), file));
      all.back().server = true;
    }
    if (error()) return *error();
    return all;
  }

 private:
  ContainerdHost ReadHost(std::string url, const toml::table& table) {
    ContainerdHost host;
    host.host.path.clear();
    bool override_path = BoolAt(table, "override_path");
    if (url.find("://") == std::string::npos) url.insert(0, "https://");
    Result<kube::Url> parsed = kube::Url::Parse(url);
    if (!parsed || !IsRegistryHost(parsed->Authority())) {
      Refuse(table, "host is not the URL of a registry");
      return host;
    }
    host.registry = parsed->Authority();
    host.host.scheme = parsed->scheme;
    host.host.path = parsed->target.substr(0, parsed->target.find('?'));
    while (host.host.path.ends_with('/')) host.host.path.pop_back();
    if (!override_path && !host.host.path.ends_with("/v2")) host.host.path += "/v2";
    host.skip_verify = BoolAt(table, "skip_verify");
    ReadCapabilities(table, host);
    host.ca_files = StringsAt(table, "ca");
    ReadClient(table, host);
    ReadHeaders(table, host);
    return host;
  }

  void ReadCapabilities(const toml::table& table, ContainerdHost& host) {
    if (!table.contains("capabilities")) return;
    std::vector<std::string> all = StringsAt(table, "capabilities");
    auto has = [&](std::string_view name) {
      return std::find(all.begin(), all.end(), name) != all.end();
    };
    host.pull = has("pull");
    host.resolve = has("resolve");
  }

  // "file", ["file", "file"], or [["certificate", "key"], ...].
  void ReadClient(const toml::table& table, ContainerdHost& host) {
    const toml::node* node = table.get("client");
    if (node == nullptr) return;
    if (const toml::array* list = node->as_array();
        list != nullptr && !list->empty() && list->front().is_array()) {
      for (const toml::node& item : *list) {
        const toml::array* pair = item.as_array();
        if (pair == nullptr || pair->empty() || pair->size() > 2)
          return Refuse(item, "client: not a pair of files");
        std::string key = pair->size() == 2 ? StringOf(*pair->get(1), "client") : "";
        host.client_files.emplace_back(StringOf(*pair->get(0), "client"), std::move(key));
      }
      return;
    }
    for (std::string& file : StringsAt(table, "client"))
      host.client_files.emplace_back(std::move(file), "");
  }

  void ReadHeaders(const toml::table& table, ContainerdHost& host) {
    const toml::node* node = table.get("header");
    if (node == nullptr) return;
    if (!node->is_table() || node->as_table()->size() > kMaxHeaders)
      return Refuse(*node, "header: not a table");
    for (const auto& [key, value] : *node->as_table()) {
      std::string name(key.str());
      // The error must not show the value: it may be a password.
      if (!IsHeaderName(name)) return Refuse(value, "header: not a name");
      for (std::string& text : StringsAt(*node->as_table(), name)) {
        if (!IsHeaderValue(text)) return Refuse(value, "header: not a value");
        host.host.headers.emplace_back(name, std::move(text));
      }
    }
  }

  // A string, or a list of them.
  std::vector<std::string> StringsAt(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    if (!node->is_array()) return {StringOf(*node, key)};
    std::vector<std::string> all;
    for (const toml::node& item : *node->as_array()) all.push_back(StringOf(item, key));
    return all;
  }
};

// Adds the files that `host` names to `tls`. Relative ones are in `folder`.
void LoadFiles(const std::string& folder, const ContainerdHost& host, HostTls& tls) {
  auto read = [&](const std::string& name) {
    Result<std::string> text = kube::ReadFile(name.starts_with('/') ? name : folder + "/" + name);
    if (!text && tls.problem.empty()) tls.problem = text.error().message();
    return text ? std::move(*text) : std::string();
  };
  for (const std::string& name : host.ca_files) tls.ca_pem += read(name) + "\n";
  if (host.client_files.empty() || !tls.cert_pem.empty()) return;
  const auto& [certificate, key] = host.client_files.front();
  tls.cert_pem = read(certificate);
  tls.key_pem = key.empty() ? tls.cert_pem : read(key);
}

// The names of the folders in `tree`.
Result<std::vector<std::string>> NamesIn(const std::string& tree) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(tree, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    if (names.size() == kMaxFolders) return Error::Invalid(tree + ": more than 4096 folders");
    names.push_back(entry->path().filename().string());
  }
  if (failure) return Error::Invalid(tree + ": " + failure.message());
  return names;
}

}  // namespace

Result<std::vector<ContainerdHost>> ParseHostsToml(std::string_view toml) {
  return HostsParser().Parse(toml);
}

ContainerdHosts::Folder ContainerdHosts::ReadFolder(const std::string& path,
                                                    const std::string& ns) {
  Result<std::string> text = kube::ReadFile(path + "/hosts.toml");
  if (!text && text.error().code() == kube::Code::kNotFound) {
    if (!ns.empty()) certificates_.emplace(ns, ReadHostFolder(path));
    return {};
  }
  if (!text) return {.hosts = {}, .problem = text.error().message()};
  Result<std::vector<ContainerdHost>> hosts = ParseHostsToml(*text);
  if (!hosts) return {.hosts = {}, .problem = path + "/hosts.toml " + hosts.error().message()};
  for (const ContainerdHost& host : *hosts) {
    if (!host.ca_files.empty() || !host.client_files.empty())
      LoadFiles(path, host, certificates_[host.registry]);
  }
  return {.hosts = std::move(*hosts), .problem = ""};
}

Result<ContainerdHosts> ContainerdHosts::Read(const std::string& tree) {
  ContainerdHosts all;
  std::error_code failure;
  if (tree.empty() || !fs::exists(tree, failure)) return all;
  Result<std::vector<std::string>> names = NamesIn(tree);
  if (!names) return names.error();
  // The first folder that has a certificate for a host decides: the order is that of the names, and
  // the default is the last.
  std::sort(names->begin(), names->end(), [](const std::string& a, const std::string& b) {
    return std::tuple(a == kDefault, RegistryOf(a), a == RegistryOf(a)) <
           std::tuple(b == kDefault, RegistryOf(b), b == RegistryOf(b));
  });
  for (const std::string& name : *names) {
    std::string ns = name == kDefault ? "" : RegistryOf(name);
    // If two folders are for one registry, containerd uses the one with underscores.
    if (all.folders_.contains(ns)) continue;
    all.folders_[ns] = all.ReadFolder(tree + "/" + name, ns);
  }
  return all;
}

std::set<std::string> ContainerdHosts::Hosts() const {
  std::set<std::string> hosts;
  for (const auto& [ns, folder] : folders_) {
    if (!ns.empty()) hosts.insert(ns);
    for (const ContainerdHost& host : folder.hosts) hosts.insert(host.registry);
  }
  return hosts;
}

Result<std::vector<PullSource>> ContainerdHosts::Expand(PullSource source, bool by_digest) const {
  auto folder = folders_.find(source.registry);
  if (folder == folders_.end()) folder = folders_.find("");
  if (folder == folders_.end()) return std::vector<PullSource>{std::move(source)};
  if (!folder->second.problem.empty()) return Error::Invalid(folder->second.problem);

  std::vector<PullSource> sources;
  std::string own = source.registry == kDockerHub ? std::string(kDockerHubHost) : source.registry;
  bool server_named = false;
  for (const ContainerdHost& host : folder->second.hosts) {
    server_named |= host.server;
    if (!host.pull || (!by_digest && !host.resolve)) continue;
    PullSource place{.registry = host.registry,
                     .repository = source.repository,
                     .insecure = host.skip_verify,
                     .reason = "hosts.toml of " + source.registry,
                     .host = host.host};
    if (host.registry != own) place.host.mirrored_registry = source.registry;
    sources.push_back(std::move(place));
  }
  if (sources.empty() && server_named)
    return Error::Invalid("hosts.toml of " + source.registry + " allows no host");
  if (!server_named) sources.push_back(std::move(source));
  return sources;
}

std::string ContainerdHosts::ToText() const {
  kube::Json text = kube::Json::object();
  for (const auto& [registry, folder] : folders_) {
    kube::Json hosts = kube::Json::array();
    for (const ContainerdHost& host : folder.hosts) {
      hosts.push_back({host.registry, host.server, host.skip_verify, host.pull, host.resolve,
                       host.host.scheme, host.host.path, host.host.mirrored_registry,
                       host.host.headers, host.ca_files, host.client_files});
    }
    text[registry] = {std::move(hosts), folder.problem};
  }
  return kube::DumpJson(text);
}

}  // namespace inspection

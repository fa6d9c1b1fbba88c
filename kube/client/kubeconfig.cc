// SPDX-License-Identifier: Apache-2.0
#include "kube/client/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "kube/base/base64.h"
#include "kube/client/read_file.h"
#include "kube/codec/yaml.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

// Typed access to the fields of a kubeconfig object; keeps the first type error.
class Fields {
 public:
  Fields(Json value, std::string file, std::string where)
      : value_(std::move(value)), file_(std::move(file)), where_(std::move(where)) {
    if (!value_.is_null() && !value_.is_object()) Fail("", "is not a map");
  }

  std::string String(const std::string& name) {
    const Json* value = Get(name);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    Fail(name, "is not a string");
    return {};
  }

  bool Bool(const std::string& name) {
    const Json* value = Get(name);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    Fail(name, "is neither true nor false");
    return false;
  }

  // A path relative to the kubeconfig's folder, made absolute.
  std::string Path(const std::string& name) { return Absolute(String(name)); }
  std::string Absolute(const std::string& path) const {
    if (path.empty() || path.starts_with('/')) return path;
    return (std::filesystem::path(file_).parent_path() / path).string();
  }

  std::string Base64(const std::string& name) {
    Result<std::string> bytes = Base64Decode(String(name));
    if (bytes) return std::move(*bytes);
    Fail(name, "is not base64");
    return {};
  }

  std::vector<Json> Array(const std::string& name) {
    const Json* value = Get(name);
    if (value == nullptr) return {};
    if (value->is_array()) return {value->begin(), value->end()};
    Fail(name, "is not a list");
    return {};
  }

  bool Has(const std::string& name) const { return Get(name) != nullptr; }
  Fields Child(const std::string& name) const {
    const Json* value = Get(name);
    return Fields(value == nullptr ? Json() : *value, file_, where_ + name + ".");
  }

  void Fail(const std::string& name, const std::string& what) {
    std::string field = where_ + name;
    if (field.ends_with('.')) field.pop_back();
    if (!error_)
      error_ = Error::Invalid(file_ + ": " + (field.empty() ? "the document" : field) + " " + what);
  }
  const std::optional<Error>& error() const { return error_; }
  const std::string& file() const { return file_; }

 private:
  const Json* Get(const std::string& name) const {
    const Json* value = value_.is_object() ? Find(value_, name) : nullptr;
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  Json value_;
  std::string file_;
  std::string where_;
  std::optional<Error> error_;
};

// All files, merged like in kubectl.
struct Merged {
  std::string current_context;
  std::map<std::string, Fields> clusters, contexts, users;
};

Result<void> AddEntries(Fields& document, const std::string& list, const std::string& item,
                        std::map<std::string, Fields>& into) {
  for (const Json& entry : document.Array(list)) {
    std::string name = StringAt(entry, "name");
    const Json* value = Find(entry, item);
    if (name.empty())
      return Error::Invalid(document.file() + ": " + list + " has an entry without name");
    into.try_emplace(name, value == nullptr ? Json() : *value, document.file(),
                     list + "[" + name + "]." + item + ".");
  }
  return Ok();
}

Result<void> AddFile(const std::string& path, const std::string& text, Merged& merged) {
  Result<std::vector<Json>> documents = ParseYamlDocuments(text);
  if (!documents) return documents.error().Prefix(path);
  if (documents->empty()) return Ok();
  Fields document((*documents)[0], path, "");
  if (merged.current_context.empty()) merged.current_context = document.String("current-context");
  Result<void> added = AddEntries(document, "clusters", "cluster", merged.clusters);
  if (added) added = AddEntries(document, "contexts", "context", merged.contexts);
  if (added) added = AddEntries(document, "users", "user", merged.users);
  if (!added) return added.error();
  if (document.error()) return *document.error();
  return Ok();
}

void ReadCluster(Fields& cluster, ClientConfig& config) {
  config.server = cluster.String("server");
  if (config.server.empty()) cluster.Fail("server", "is missing");
  config.proxy_url = cluster.String("proxy-url");
  config.tls.server_name = cluster.String("tls-server-name");
  config.tls.insecure = cluster.Bool("insecure-skip-tls-verify");
  config.tls.ca_pem = cluster.Base64("certificate-authority-data");
  if (config.tls.ca_pem.empty()) config.ca_file = cluster.Path("certificate-authority");
  if (config.tls.insecure && (!config.tls.ca_pem.empty() || !config.ca_file.empty())) {
    cluster.Fail("insecure-skip-tls-verify", "is set together with a certificate authority");
  }
}

ExecConfig ReadExec(Fields exec, Fields& user) {
  ExecConfig config;
  config.api_version = exec.String("apiVersion");
  if (config.api_version != "client.authentication.k8s.io/v1" &&
      config.api_version != "client.authentication.k8s.io/v1beta1") {
    exec.Fail("apiVersion", "is neither client.authentication.k8s.io/v1 nor v1beta1");
  }
  config.command = exec.String("command");
  if (config.command.empty()) exec.Fail("command", "is missing");
  // A bare name is looked up in PATH, anything else is a path.
  if (config.command.find('/') != std::string::npos) config.command = exec.Absolute(config.command);
  config.install_hint = exec.String("installHint");
  config.provide_cluster_info = exec.Bool("provideClusterInfo");
  if (exec.String("interactiveMode") == "Always")
    exec.Fail("interactiveMode", "is Always, but there is no terminal");
  for (const Json& arg : exec.Array("args")) {
    if (!arg.is_string()) exec.Fail("args", "has an entry that is not a string");
    if (arg.is_string()) config.args.push_back(arg.get<std::string>());
  }
  for (const Json& entry : exec.Array("env")) {
    std::string name = StringAt(entry, "name");
    if (name.empty()) exec.Fail("env", "has an entry without name");
    config.env.emplace_back(name, StringAt(entry, "value"));
  }
  if (exec.error()) user = exec;  // the caller checks user.error()
  return config;
}

void ReadUser(Fields& user, ClientConfig& config) {
  for (const char* name : {"auth-provider", "as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.Has(name)) user.Fail(name, "is not supported");
  }
  config.token = user.String("token");
  config.token_file = user.Path("tokenFile");
  config.username = user.String("username");
  config.password = user.String("password");
  config.tls.cert_pem = user.Base64("client-certificate-data");
  if (config.tls.cert_pem.empty()) config.cert_file = user.Path("client-certificate");
  config.tls.key_pem = user.Base64("client-key-data");
  if (config.tls.key_pem.empty()) config.key_file = user.Path("client-key");
  if (user.Has("exec") && !user.error()) config.exec = ReadExec(user.Child("exec"), user);
}

std::vector<std::string> SplitPaths(const std::string& paths) {
  std::vector<std::string> list;
  for (size_t from = 0; from <= paths.size();) {
    size_t colon = std::min(paths.find(':', from), paths.size());
    if (colon > from) list.push_back(paths.substr(from, colon - from));
    from = colon + 1;
  }
  return list;
}

}  // namespace

Result<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context) {
  // Read and merge.
  Merged merged;
  std::optional<Error> missing;
  bool any = false;
  for (const std::string& file : SplitPaths(path)) {
    Result<std::string> text = ReadFile(file);
    if (IsNotFound(text)) {
      missing = text.error();
      continue;
    }
    if (!text) return text.error().Prefix("kubeconfig");
    any = true;
    Result<void> added = AddFile(file, *text, merged);
    if (!added) return added.error().Prefix("kubeconfig");
  }
  if (!any) return (missing ? *missing : Error::NotFound("no file named")).Prefix("kubeconfig");

  // Follow context, cluster and user.
  auto no_such = [&](const std::string& what, const std::string& name) {
    return Error::Invalid("kubeconfig " + path + ": no " + what + " named \"" + name + "\"");
  };
  const std::string& name = context.empty() ? merged.current_context : context;
  if (name.empty()) return Error::Invalid("kubeconfig " + path + ": current-context is missing");
  auto chosen = merged.contexts.find(name);
  if (chosen == merged.contexts.end()) return no_such("context", name);
  ClientConfig config;
  config.ns = chosen->second.String("namespace");
  std::string cluster_name = chosen->second.String("cluster");
  std::string user_name = chosen->second.String("user");
  if (chosen->second.error()) return chosen->second.error()->Prefix("kubeconfig");
  auto cluster = merged.clusters.find(cluster_name);
  if (cluster == merged.clusters.end()) return no_such("cluster", cluster_name);
  ReadCluster(cluster->second, config);
  if (cluster->second.error()) return cluster->second.error()->Prefix("kubeconfig");
  if (user_name.empty()) return config;
  auto user = merged.users.find(user_name);
  if (user == merged.users.end()) return no_such("user", user_name);
  ReadUser(user->second, config);
  if (user->second.error()) return user->second.error()->Prefix("kubeconfig");
  return config;
}

Result<ClientConfig> LoadClientConfig(const std::string& flag_path) {
  if (!flag_path.empty()) return LoadKubeconfig(flag_path);
  if (const char* paths = std::getenv("KUBECONFIG"); paths != nullptr && *paths != '\0')
    return LoadKubeconfig(paths);
  Result<ClientConfig> in_cluster = InClusterConfig();
  if (in_cluster || std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return in_cluster;
  const char* home = std::getenv("HOME");
  return LoadKubeconfig(std::string(home == nullptr ? "" : home) + "/.kube/config");
}

}  // namespace kube

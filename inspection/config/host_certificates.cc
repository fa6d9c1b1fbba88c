// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/host_certificates.h"

#include <algorithm>
#include <filesystem>

#include "kube/client/read_file.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Result;
namespace fs = std::filesystem;

constexpr size_t kMaxHosts = 4096;
constexpr size_t kMaxFiles = 64;

// The names in a folder, sorted.
Result<std::vector<std::string>> NamesIn(const std::string& folder, size_t limit) {
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  std::vector<std::string> names;
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (names.size() == limit)
      return Error::Invalid(folder + ": more than " + std::to_string(limit) + " entries");
    names.push_back(entry->path().filename().string());
  }
  if (failure) return Error::Invalid(folder + ": " + failure.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

HostTls ReadHostFolder(const std::string& folder) {
  HostTls tls;
  Result<std::vector<std::string>> names = NamesIn(folder, kMaxFiles);
  if (!names) return {.problem = names.error().message()};
  auto read = [&](const std::string& name) {
    Result<std::string> text = kube::ReadFile(folder + "/" + name);
    if (!text && tls.problem.empty()) tls.problem = text.error().message();
    return text ? std::move(*text) : std::string();
  };
  auto has = [&](const std::string& name) {
    return std::binary_search(names->begin(), names->end(), name);
  };
  for (const std::string& name : *names) {
    std::string stem = fs::path(name).stem().string();
    if (name.ends_with(".crt")) {
      tls.ca_pem += read(name) + "\n";
    } else if (name.ends_with(".cert")) {
      if (!has(stem + ".key")) return {.problem = folder + "/" + name + " has no " + stem + ".key"};
      if (!tls.cert_pem.empty()) continue;
      tls.cert_pem = read(name);
      tls.key_pem = read(stem + ".key");
    } else if (name.ends_with(".key") && !has(stem + ".cert")) {
      return {.problem = folder + "/" + name + " has no " + stem + ".cert"};
    }
  }
  return tls;
}

Result<HostCertificates> ReadCertsDirectories(const std::vector<std::string>& trees) {
  HostCertificates certificates;
  for (const std::string& tree : trees) {
    std::error_code ignored;
    if (!fs::exists(tree, ignored)) continue;
    Result<std::vector<std::string>> hosts = NamesIn(tree, kMaxHosts);
    if (!hosts) return hosts.error();
    for (const std::string& host : *hosts) {
      std::string folder = tree + "/" + host;
      if (certificates.contains(host) || !fs::is_directory(folder, ignored)) continue;
      certificates[host] = ReadHostFolder(folder);
    }
  }
  return certificates;
}

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/node_files.h"

#include <algorithm>
#include <filesystem>

#include "kube/client/read_file.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Result;
namespace fs = std::filesystem;

constexpr size_t kMaxDropIns = 256;

// "" for no path, and for a file that does not exist.
Result<std::string> ReadOptional(const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> text = kube::ReadFile(path);
  if (!text && text.error().code() == kube::Code::kNotFound) return std::string();
  return text;
}

// The drop-ins of a registries.conf, sorted by name.
Result<std::vector<std::string>> ReadDropIns(const std::string& folder) {
  std::vector<std::string> paths, texts;
  std::error_code failure;
  if (!fs::exists(folder, failure)) return texts;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (entry->path().extension() == ".conf") paths.push_back(entry->path().string());
    if (paths.size() > kMaxDropIns) return Error::Invalid(folder + ": more than 256 drop-ins");
  }
  if (failure) return Error::Invalid(folder + ": " + failure.message());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    Result<std::string> text = kube::ReadFile(path);
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  return texts;
}

}  // namespace

Result<void> ReadNodeFiles(const NodeFilePaths& paths, InspectorConfig& config) {
  // containers/image
  Result<std::string> registries = ReadOptional(paths.registries_conf);
  if (!registries) return registries.error();
  config.registries_conf = std::move(*registries);
  if (!paths.registries_conf.empty()) {
    Result<std::vector<std::string>> drop_ins = ReadDropIns(paths.registries_conf + ".d");
    if (!drop_ins) return drop_ins.error();
    config.registries_conf_drop_ins = std::move(*drop_ins);
  }
  Result<HostCertificates> certificates = ReadCertsDirectories(paths.certs_dirs);
  if (!certificates) return certificates.error();
  config.certificates = std::move(*certificates);
  Result<std::string> policy = ReadOptional(paths.policy);
  if (!policy) return policy.error();
  config.policy_json = std::move(*policy);

  // containerd and the kubelet
  Result<ContainerdHosts> containerd = ContainerdHosts::Read(paths.containerd_certs_dir);
  if (!containerd) return containerd.error();
  config.containerd_hosts = std::move(*containerd);
  Result<std::string> text = ReadOptional(paths.credential_provider_config);
  if (!text) return text.error();
  Result<CredentialProviderConfig> providers =
      ParseCredentialProviderConfig(*text, paths.service_account_tokens);
  if (!providers) return providers.error();
  config.credential_providers = std::move(*providers);
  config.credential_providers.bin_dir = paths.credential_provider_bin_dir;
  return kube::Ok();
}

}  // namespace inspection

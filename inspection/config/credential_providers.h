// SPDX-License-Identifier: Apache-2.0
// CredentialProviders: credentials from the kubelet's exec plugins (ECR, GCR and ACR issue
// short-lived passwords this way), configured by the kubelet's CredentialProviderConfig.
//
//   Result<CredentialProviderConfig> config = ParseCredentialProviderConfig(yaml);
//   config->bin_dir = "/usr/libexec/kubernetes/kubelet-plugins/credential-provider/exec";
//   CredentialProviders providers(clock, *config);
//   ProvidedCredentials provided = co_await providers.For(reference);
//
// A plugin's run time and output are limited, it never runs twice at once, and its answers are
// cached for as long as it says. Providers that need service account tokens (tokenAttributes) are
// skipped: one inspection serves many pods. Source:
// kubernetes.io/docs/tasks/administer-cluster/kubelet-credential-provider. Thread: the executor's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inspection/base/reference.h"
#include "inspection/config/credentials.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"

namespace inspection {

struct CredentialProvider {
  std::string name;  // of the executable in bin_dir
  std::vector<std::string> match_images;
  std::chrono::seconds default_cache_duration{0};
  std::string api_version;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;

  bool operator==(const CredentialProvider&) const = default;
};

struct CredentialProviderConfig {
  std::string bin_dir;
  std::vector<CredentialProvider> providers;
  // The providers of the file that are not used, with the reason, for the log.
  std::vector<std::string> skipped;

  bool operator==(const CredentialProviderConfig&) const = default;
};

// A kubelet's CredentialProviderConfig, YAML or JSON; v1, v1beta1 and v1alpha1. kInvalid names the
// field.
kube::Result<CredentialProviderConfig> ParseCredentialProviderConfig(const std::string& text);

// Patterns: "*.dkr.ecr.*.amazonaws.com", "registry.io:8080/path". '*' matches within one part of
// the host, the port must be equal, and the path must be a prefix of the image's.
bool MatchesImage(std::string_view pattern, const Reference& image);

// The "auth" of a plugin's answer, with its lifetime and the images that may use it.
struct ProviderAnswer {
  enum class Scope { kImage, kRegistry, kGlobal };
  Scope scope = Scope::kImage;
  std::optional<std::chrono::seconds> duration;  // nullopt: the provider's default
  Keyring keyring;
};
// kInvalid names the field, and never quotes a value.
kube::Result<ProviderAnswer> ParseProviderAnswer(std::string_view json,
                                                 const CredentialProvider& provider);

struct ProvidedCredentials {
  Keyring keyring;
  // Why a provider that matches the image failed; empty if none failed. Contains no secret.
  std::string problem;
};

class CredentialProviders {
 public:
  CredentialProviders(kube::Clock& clock, CredentialProviderConfig config)
      : clock_(clock), config_(std::move(config)) {}

  // Without an error: an image may be readable without these credentials.
  kube::asio::awaitable<ProvidedCredentials> For(Reference image);
  // Whether any provider is configured for `image`.
  bool Matches(const Reference& image) const;

 private:
  struct CachedAnswer {
    kube::Result<Keyring> keyring;
    kube::TimePoint expires;
  };
  struct RunningPlugin {
    kube::Notifier done;
    bool ended = false;
  };

  // The cache keys of answers that `image` may use, by ProviderAnswer::Scope.
  static std::vector<std::string> KeysOf(const CredentialProvider& provider,
                                         const Reference& image);
  CachedAnswer* Find(const CredentialProvider& provider, const Reference& image);
  kube::Async<Keyring> FindOrRun(const CredentialProvider& provider, Reference image);
  kube::Async<Keyring> Run(const CredentialProvider& provider, Reference image);

  kube::Clock& clock_;
  CredentialProviderConfig config_;
  kube::LruMap<CachedAnswer> cache_{1024};
  std::map<std::string, std::shared_ptr<RunningPlugin>> running_;  // by provider
};

}  // namespace inspection

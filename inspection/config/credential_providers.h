// SPDX-License-Identifier: Apache-2.0
// CredentialProviders: what the kubelet's exec plugins know of registries (how ECR, GCR and ACR
// give out short-lived passwords), by its own CredentialProviderConfig.
//
//   Result<CredentialProviderConfig> config = ParseCredentialProviderConfig(yaml);
//   config->bin_dir = "/usr/libexec/kubernetes/kubelet-plugins/credential-provider/exec";
//   CredentialProviders providers(clock, *config);
//   ProvidedCredentials provided = co_await providers.For(reference);
//
// A plugin is bounded in time and output; its answers are kept as long as it says, one call at a
// time for each. Providers that want service account tokens (tokenAttributes) are left out: there
// is no pod to speak for here. Source:
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

#include "inspection/config/credentials.h"
#include "inspection/reference.h"
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
  // Providers of the file that are not used, and why: for the log.
  std::vector<std::string> left_out;

  bool operator==(const CredentialProviderConfig&) const = default;
};

// A kubelet's CredentialProviderConfig, YAML or JSON; v1, v1beta1 and v1alpha1. kInvalid names the
// field.
kube::Result<CredentialProviderConfig> ParseCredentialProviderConfig(const std::string& text);

// "*.dkr.ecr.*.amazonaws.com", "registry.io:8080/path": as many parts of the host, '*' within one;
// the port must be the same; the path must begin the image's.
bool MatchesImage(std::string_view pattern, const Reference& image);

// An answer's "auth", and how long which images may use it.
struct ProviderAnswer {
  enum class Scope { kImage, kRegistry, kGlobal };
  Scope scope = Scope::kImage;
  std::optional<std::chrono::seconds> duration;  // nullopt: the provider's default
  Keyring keyring;
};
// kInvalid names the field; values are not shown.
kube::Result<ProviderAnswer> ParseProviderAnswer(std::string_view json,
                                                 const CredentialProvider& provider);

struct ProvidedCredentials {
  Keyring keyring;
  // Why a provider that matches the image has given nothing; empty if all did. Safe to show.
  std::string problem;
};

class CredentialProviders {
 public:
  CredentialProviders(kube::Clock& clock, CredentialProviderConfig config)
      : clock_(clock), config_(std::move(config)) {}

  // Never fails as a whole: an image may do without.
  kube::asio::awaitable<ProvidedCredentials> For(Reference image);

  uint64_t calls() const { return calls_; }

 private:
  struct Kept {
    kube::Result<Keyring> keyring;
    kube::TimePoint until;
  };
  // One provider as it runs: callers with the same question wait for its answer.
  struct Flight {
    kube::Notifier done;
    bool ended = false;
  };

  // The key under which an answer for `image` may have been kept.
  static std::vector<std::string> KeysOf(const CredentialProvider& provider,
                                         const Reference& image);
  Kept* Find(const CredentialProvider& provider, const Reference& image);
  kube::Async<Keyring> Ask(const CredentialProvider& provider, Reference image);
  kube::Async<Keyring> Run(const CredentialProvider& provider, Reference image);

  kube::Clock& clock_;
  CredentialProviderConfig config_;
  kube::LruMap<Kept> kept_{1024};
  std::map<std::string, std::shared_ptr<Flight>> flights_;
  uint64_t calls_ = 0;
};

}  // namespace inspection

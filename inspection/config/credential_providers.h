// SPDX-License-Identifier: Apache-2.0
// CredentialProviders: credentials from the kubelet's exec plugins (ECR, GCR and ACR issue
// short-lived passwords this way), configured by the kubelet's CredentialProviderConfig.
//
//   Result<CredentialProviderConfig> config = ParseCredentialProviderConfig(yaml);
//   config->bin_dir = "/usr/libexec/kubernetes/kubelet-plugins/credential-provider/exec";
//   CredentialProviders providers(clock, *config);
//   ProvidedCredentials provided = co_await providers.For(reference);
//
// A plugin gets this process's environment without its identity in a cloud, and the `env` of its
// configuration. Its run time and output are limited, as are the programs with tokens that run at a
// time (namespace_turns.h). It never runs twice at once for the same account, and its answers are
// cached for as long as it says. What a plugin answers to a service account's token
// (tokenAttributes) serves pods of that account alone. Source:
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
#include "inspection/config/account_tokens.h"
#include "inspection/config/credentials.h"
#include "inspection/config/namespace_lru_map.h"
#include "inspection/config/namespace_turns.h"
#include "inspection/config/running_call.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"

namespace inspection {

// A provider's tokenAttributes: it gets a token of the pod's service account.
struct TokenAttributes {
  // Whom an answer is for: all pods of the service account, or the one pod that the token is bound
  // to.
  enum class CacheType { kServiceAccount, kToken };

  std::string audience;
  CacheType cache_type = CacheType::kServiceAccount;
  // Without a service account the provider is not run; otherwise it is run without a token.
  bool require_service_account = true;
  // Annotations of the service account that the provider gets. Without a required one it is not
  // run.
  std::vector<std::string> required_annotations;
  std::vector<std::string> optional_annotations;

  bool operator==(const TokenAttributes&) const = default;
};

struct CredentialProvider {
  std::string name;  // of the executable in bin_dir
  std::vector<std::string> match_images;
  std::chrono::seconds default_cache_duration{0};
  std::string api_version;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<TokenAttributes> token;

  bool operator==(const CredentialProvider&) const = default;
};

struct CredentialProviderConfig {
  std::string bin_dir;
  std::vector<CredentialProvider> providers;
  // The providers of the file that are not used, with the reason, for the log.
  std::vector<std::string> skipped;

  bool operator==(const CredentialProviderConfig&) const = default;
};

// A kubelet's CredentialProviderConfig, YAML or JSON; v1, v1beta1 and v1alpha1. Without
// `account_tokens`, providers with tokenAttributes are skipped. kInvalid names the field.
kube::Result<CredentialProviderConfig> ParseCredentialProviderConfig(const std::string& text,
                                                                     bool account_tokens = false);

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
  // Equal for pods that the providers give the same rights to the image, whether the credentials
  // could be had or not. Not secret.
  std::string identity;
  // Why a provider that matches the image failed; empty if none failed. Contains no secret.
  std::string problem;
  // Set if a provider failed for a moment only: its credentials can be had at another time.
  std::optional<kube::Error> outage;
  // Whether a provider failed because the pod is gone that its token would be for: another pod of
  // the account may get the credentials.
  bool pod_gone = false;
};

class CredentialProviders {
 public:
  // Cached answers to tokens, in all and for the accounts of one namespace; larger ones are not
  // cached.
  static constexpr size_t kMaxAccountAnswers = 512;
  static constexpr size_t kMaxNamespaceAnswers = 64;
  static constexpr size_t kMaxAccountAnswerBytes = 16 * 1024;

  // Programs of a provider that run with tokens at a time, in all and for the accounts of one
  // namespace.
  static constexpr size_t kMaxProgramsAtOnce = 4;
  static constexpr size_t kMaxNamespacePrograms = 2;

  // `tokens` outlives it; it may be null if no provider has tokenAttributes.
  CredentialProviders(kube::Clock& clock, CredentialProviderConfig config,
                      AccountTokens* tokens = nullptr)
      : clock_(clock), config_(std::move(config)), tokens_(tokens) {}

  // Without an error: an image may be readable without these credentials. Programs and requests are
  // ended at `deadline`; a wait for those that run for others ends after kPluginTurnTimeout.
  kube::asio::awaitable<ProvidedCredentials> For(Reference image, SharedPodIdentity pod,
                                                 kube::TimePoint deadline);
  // Whether any provider is configured for `image`.
  bool Matches(const Reference& image) const;
  // Equal for pods that get the same credentials for `image`; "" if every pod does.
  std::string SharingKey(const Reference& image, const SharedPodIdentity& pod) const;

 private:
  struct CachedAnswer {
    kube::Result<Keyring> keyring;
    kube::TimePoint expires;
  };

  // Whom an answer is for.
  struct Recipient {
    // Distinguishes recipients, in cache keys; "" without a service account.
    std::string key;
    std::string ns;
    std::map<std::string, std::string> annotations;
    SharedPodIdentity pod;
  };

  // One provider in one call of For(): its limits, and what becomes known.
  struct Attempt {
    kube::TimePoint turn;      // for a wait
    kube::TimePoint deadline;  // for requests and the program
    // Recipient::key, or a name while that is unknown.
    std::string recipient = {};
    bool pod_gone = false;  // set as in ProvidedCredentials
    // The failure is none of the program: it is not remembered for others.
    bool is_own_failure = false;
  };

  // The cache keys of answers that `image` may use, by ProviderAnswer::Scope.
  static std::vector<std::string> KeysOf(const CredentialProvider& provider, const Reference& image,
                                         const Recipient& recipient);
  static bool IsAccountsProvider(const CredentialProvider& provider, const SharedPodIdentity& pod) {
    return provider.token && pod != nullptr && !pod->account.empty();
  }
  void Keep(const std::string& key, const Recipient& recipient, CachedAnswer answer);
  CachedAnswer* Find(const CredentialProvider& provider, const Reference& image,
                     const Recipient& recipient);
  // nullopt if the provider is not for this pod.
  kube::Async<std::optional<Recipient>> RecipientOf(const CredentialProvider& provider,
                                                    SharedPodIdentity pod, Attempt& attempt);
  kube::Async<Keyring> Provide(const CredentialProvider& provider, Reference image,
                               SharedPodIdentity pod, Attempt& attempt);
  kube::Async<Keyring> FindOrRun(const CredentialProvider& provider, Reference image,
                                 Recipient recipient, Attempt& attempt);
  kube::Async<Keyring> RunInTurn(const CredentialProvider& provider, const Reference& image,
                                 const Recipient& recipient, Attempt& attempt);
  kube::Async<Keyring> Run(const CredentialProvider& provider, const Reference& image,
                           const Recipient& recipient, Attempt& attempt);

  kube::Clock& clock_;
  CredentialProviderConfig config_;
  AccountTokens* tokens_;
  kube::LruMap<CachedAnswer> answers_{1024};
  // What tenants' pods add drops nothing that all pods use.
  NamespaceLruMap<CachedAnswer> account_answers_{kMaxAccountAnswers, kMaxNamespaceAnswers};
  // By provider and recipient.
  std::map<std::string, std::shared_ptr<RunningCall>> running_;
  // Of programs with tokens, by provider.
  std::map<std::string, std::shared_ptr<NamespaceTurns>> turns_;
};

}  // namespace inspection

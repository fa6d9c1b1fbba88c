// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credential_providers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "inspection/base/digest.h"
#include "inspection/base/outage.h"
#include "inspection/base/timing.h"
#include "inspection/config/host_match.h"
#include "kube/client/command.h"
#include "kube/codec/yaml.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;
using std::chrono::seconds;

constexpr size_t kMaxFile = 1u << 20;
constexpr size_t kMaxProviders = 64;
constexpr size_t kMaxMatches = 1024;
constexpr char kGroup[] = "credentialprovider.kubelet.k8s.io/";
constexpr size_t kMaxAnnotationKeys = 64;
// Variables by which a cloud's webhook gives this process an identity, as cloud_identity.h reads
// them. A program that finds nothing else would use that identity for any pod.
constexpr std::array<std::string_view, 4> kIdentityVariables = {"AWS_", "AZURE_", "GCE_",
                                                                "GOOGLE_"};

// A duration in Go's format, without fractions: "12h", "1h30m", "90s", "0s".
std::optional<seconds> ParseDuration(std::string_view text) {
  if (text == "0") return seconds(0);
  if (text.empty()) return std::nullopt;
  std::chrono::milliseconds total{0};
  while (!text.empty()) {
    int64_t number = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || number < 0 || number > 1'000'000'000) return std::nullopt;
    text.remove_prefix(end - text.data());
    if (text.starts_with("ms")) {
      total += std::chrono::milliseconds(number);
      text.remove_prefix(2);
      continue;
    }
    if (text.starts_with('h')) {
      total += std::chrono::hours(number);
    } else if (text.starts_with('m')) {
      total += std::chrono::minutes(number);
    } else if (text.starts_with('s')) {
      total += seconds(number);
    } else {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
  return std::min(std::chrono::duration_cast<seconds>(total), kMaxPluginCacheDuration);
}

NamespaceTurns::Limits ProgramLimits() {
  constexpr size_t kAtOnce = CredentialProviders::kMaxProgramsAtOnce;
  constexpr size_t kOfNamespace = CredentialProviders::kMaxNamespacePrograms;
  return {.at_once = kAtOnce,
          .per_namespace = kOfNamespace,
          .about = "wait for a turn: at most " + std::to_string(kAtOnce) +
                   " programs of the provider run at a time, and " + std::to_string(kOfNamespace) +
                   " for the accounts of one namespace"};
}

std::optional<std::vector<std::string>> StringsAt(const Json& object, const char* field) {
  std::vector<std::string> strings;
  const Json* list = kube::Find(object, field);
  if (list == nullptr || list->is_null()) return strings;
  if (!list->is_array() || list->size() > kMaxMatches) return std::nullopt;
  for (const Json& item : *list) {
    if (!item.is_string()) return std::nullopt;
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

bool IsProgramName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find(' ') == std::string::npos && name.find('\0') == std::string::npos;
}

Result<CredentialProvider> ParseProvider(const Json& json) {
  CredentialProvider provider;
  provider.name = kube::StringAt(json, "name");
  if (!IsProgramName(provider.name)) return Error::Invalid("name: not a program's name");
  auto matches = StringsAt(json, "matchImages");
  if (!matches || matches->empty())
    return Error::Invalid(provider.name + ": matchImages: not a list of patterns");
  provider.match_images = std::move(*matches);
  provider.api_version = kube::StringAt(json, "apiVersion");
  if (!provider.api_version.starts_with(kGroup))
    return Error::Invalid(provider.name + ": apiVersion: not supported");
  std::optional<seconds> duration = ParseDuration(kube::StringAt(json, "defaultCacheDuration"));
  if (!duration) return Error::Invalid(provider.name + ": defaultCacheDuration: not a duration");
  provider.default_cache_duration = *duration;
  auto args = StringsAt(json, "args");
  if (!args) return Error::Invalid(provider.name + ": args: not a list of strings");
  provider.args = std::move(*args);
  for (const Json& entry : kube::ListAt(json, "env"))
    provider.env.emplace_back(kube::StringAt(entry, "name"), kube::StringAt(entry, "value"));
  return provider;
}

// With the rules of the kubelet (pkg/credentialprovider/plugin/config.go).
Result<TokenAttributes> ParseTokenAttributes(const Json& json, const std::string& api_version) {
  if (!json.is_object()) return Error::Invalid("not an object");
  if (api_version != std::string(kGroup) + "v1")
    return Error::Invalid("needs apiVersion " + std::string(kGroup) + "v1");
  TokenAttributes attributes;
  attributes.audience = kube::StringAt(json, "serviceAccountTokenAudience");
  if (attributes.audience.empty()) return Error::Invalid("serviceAccountTokenAudience: required");
  std::string cache_type = kube::StringAt(json, "cacheType");
  if (cache_type == "Token") {
    attributes.cache_type = TokenAttributes::CacheType::kToken;
  } else if (cache_type != "ServiceAccount") {
    return Error::Invalid("cacheType: not ServiceAccount or Token");
  }
  const Json* required = kube::Find(json, "requireServiceAccount");
  if (required == nullptr || !required->is_boolean())
    return Error::Invalid("requireServiceAccount: required");
  attributes.require_service_account = required->get<bool>();
  auto required_keys = StringsAt(json, "requiredServiceAccountAnnotationKeys");
  auto optional_keys = StringsAt(json, "optionalServiceAccountAnnotationKeys");
  if (!required_keys || !optional_keys ||
      required_keys->size() + optional_keys->size() > kMaxAnnotationKeys) {
    return Error::Invalid("annotation keys: not lists of at most " +
                          std::to_string(kMaxAnnotationKeys) + " strings together");
  }
  if (!attributes.require_service_account && !required_keys->empty()) {
    return Error::Invalid(
        "requiredServiceAccountAnnotationKeys: not without requireServiceAccount");
  }
  std::vector<std::string> all = *required_keys;
  all.insert(all.end(), optional_keys->begin(), optional_keys->end());
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    return Error::Invalid("annotation keys: one is named twice");
  attributes.required_annotations = std::move(*required_keys);
  attributes.optional_annotations = std::move(*optional_keys);
  return attributes;
}

// In place of Recipient::key while the account is not known.
std::string UnknownRecipient(const SharedPodIdentity& pod) {
  return pod == nullptr || pod->account.empty() ? "" : "unknown " + pod->ns + "/" + pod->account;
}

bool ProviderMatches(const CredentialProvider& provider, const Reference& image) {
  return std::any_of(provider.match_images.begin(), provider.match_images.end(),
                     [&](const std::string& pattern) { return MatchesImage(pattern, image); });
}

}  // namespace

Result<CredentialProviderConfig> ParseCredentialProviderConfig(const std::string& text,
                                                               bool account_tokens) {
  constexpr char kAbout[] = "credential provider config";
  CredentialProviderConfig config;
  if (text.empty()) return config;
  if (text.size() > kMaxFile) return Error::Invalid("larger than 1 MiB").Prefix(kAbout);
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(text);
  if (!documents) return documents.error().Prefix(kAbout);
  if (documents->size() != 1) return Error::Invalid("not one document").Prefix(kAbout);
  const Json& json = documents->front();
  if (kube::StringAt(json, "kind") != "CredentialProviderConfig") {
    return Error::Invalid("kind: not CredentialProviderConfig").Prefix(kAbout);
  }
  const Json* providers = kube::Find(json, "providers");
  if (providers == nullptr || !providers->is_array() || providers->size() > kMaxProviders) {
    return Error::Invalid("providers: not a list").Prefix(kAbout);
  }
  // As in the kubelet. Answers in the cache and programs at a time are counted by name.
  std::set<std::string> names;
  for (const Json& item : *providers) {
    Result<CredentialProvider> provider = ParseProvider(item);
    if (!provider) return provider.error().Prefix(kAbout);
    if (!names.insert(provider->name).second)
      return Error::Invalid(provider->name + ": name: another provider has it").Prefix(kAbout);
    const Json* token = kube::Find(item, "tokenAttributes");
    if (token != nullptr && !token->is_null()) {
      if (!account_tokens) {
        config.skipped.push_back("credential provider " + provider->name +
                                 " is skipped: it needs service account tokens, for which the "
                                 "option service-account-tokens is not set");
        continue;
      }
      Result<TokenAttributes> attributes = ParseTokenAttributes(*token, provider->api_version);
      if (!attributes)
        return attributes.error().Prefix(provider->name + ": tokenAttributes").Prefix(kAbout);
      provider->token = std::move(*attributes);
    }
    config.providers.push_back(std::move(*provider));
  }
  return config;
}

bool MatchesImage(std::string_view pattern, const Reference& image) {
  if (size_t scheme = pattern.find("://"); scheme != std::string_view::npos)
    pattern.remove_prefix(scheme + 3);
  size_t slash = pattern.find('/');
  HostPort wanted = SplitHost(pattern.substr(0, slash));
  HostPort host = SplitHost(image.registry);
  if (wanted.port != host.port || !HostMatches(wanted.host, host.host)) return false;
  std::string_view path = slash == std::string_view::npos ? "" : pattern.substr(slash + 1);
  return image.repository.starts_with(path);
}

Result<ProviderAnswer> ParseProviderAnswer(std::string_view text,
                                           const CredentialProvider& provider) {
  Result<Json> json = kube::ParseJson(text);
  if (!json || !json->is_object()) return Error::Invalid("the answer is not a JSON object");
  if (kube::StringAt(*json, "kind") != "CredentialProviderResponse") {
    return Error::Invalid("the answer's kind is not CredentialProviderResponse");
  }
  if (kube::StringAt(*json, "apiVersion") != provider.api_version) {
    return Error::Invalid("the answer's apiVersion is not " + provider.api_version);
  }
  ProviderAnswer answer;
  std::string scope = kube::StringAt(*json, "cacheKeyType");
  if (scope == "Registry") {
    answer.scope = ProviderAnswer::Scope::kRegistry;
  } else if (scope == "Global") {
    answer.scope = ProviderAnswer::Scope::kGlobal;
  } else if (scope != "Image") {
    return Error::Invalid("the answer's cacheKeyType is not Image, Registry or Global");
  }
  if (const Json* duration = kube::Find(*json, "cacheDuration");
      duration != nullptr && !duration->is_null()) {
    answer.duration = ParseDuration(kube::StringAt(*json, "cacheDuration"));
    if (!answer.duration) return Error::Invalid("the answer's cacheDuration is not a duration");
  }
  // The format of docker's configuration.
  const Json* auth = kube::Find(*json, "auth");
  if (auth == nullptr || auth->is_null()) return answer;
  Json document = {{"auths", *auth}};
  Result<void> added = answer.keyring.AddSecret("credential provider " + provider.name,
                                                kDockerConfigJsonType, kube::DumpJson(document));
  if (!added) return Error::Invalid("the answer's auth is not a map of credentials");
  return answer;
}

std::vector<std::string> CredentialProviders::KeysOf(const CredentialProvider& provider,
                                                     const Reference& image,
                                                     const Recipient& recipient) {
  std::string prefix = provider.name + " " + recipient.key;
  return {prefix + " image " + image.ToString(), prefix + " registry " + image.registry,
          prefix + " global"};
}

CredentialProviders::CachedAnswer* CredentialProviders::Find(const CredentialProvider& provider,
                                                             const Reference& image,
                                                             const Recipient& recipient) {
  for (const std::string& key : KeysOf(provider, image, recipient)) {
    CachedAnswer* cached =
        recipient.key.empty() ? answers_.Find(key) : account_answers_.Find(recipient.ns, key);
    if (cached != nullptr && clock_.Now() < cached->expires) return cached;
  }
  return nullptr;
}

void CredentialProviders::Keep(const std::string& key, const Recipient& recipient,
                               CachedAnswer answer) {
  if (recipient.key.empty()) {
    answers_.Put(key, std::move(answer));
  } else {
    account_answers_.Put(recipient.ns, key, std::move(answer));
  }
}

bool CredentialProviders::Matches(const Reference& image) const {
  return std::any_of(
      config_.providers.begin(), config_.providers.end(),
      [&](const CredentialProvider& provider) { return ProviderMatches(provider, image); });
}

std::string CredentialProviders::SharingKey(const Reference& image,
                                            const SharedPodIdentity& pod) const {
  std::string key;
  for (const CredentialProvider& provider : config_.providers) {
    if (!IsAccountsProvider(provider, pod) || !ProviderMatches(provider, image)) continue;
    // The names have no spaces and no slashes. An account that was created again, or annotated,
    // concerns inspections that start later.
    if (key.empty()) key = pod->ns + "/" + pod->account;
    if (provider.token->cache_type == TokenAttributes::CacheType::kToken)
      return pod->ns + "/" + pod->account + "/" + pod->uid;
  }
  return key;
}

kube::asio::awaitable<ProvidedCredentials> CredentialProviders::For(Reference image,
                                                                    SharedPodIdentity pod,
                                                                    kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  ProvidedCredentials provided;
  for (const CredentialProvider& provider : config_.providers) {
    if (!ProviderMatches(provider, image)) continue;
    Attempt attempt{.turn = std::min(deadline, clock_.Now() + kPluginTurnTimeout),
                    .deadline = deadline};
    Result<Keyring> keyring = co_await Provide(provider, image, pod, attempt);
    provided.pod_gone |= attempt.pod_gone;
    provided.identity += provider.name + " " + attempt.recipient + " ";
    if (!keyring && IsOutage(keyring.error()) && !provided.outage)
      provided.outage = keyring.error().Prefix("credential provider");
    if (keyring) {
      keyring->SetHolders(attempt.recipient.empty() ? Holders::kEveryPod
                                                    : Holders::kServiceAccount);
    }
    Result<void> added =
        keyring ? provided.keyring.Append(*keyring) : Result<void>(keyring.error());
    if (!added && provided.problem.empty())
      provided.problem = "credential provider " + added.error().message();
  }
  co_return provided;
}

Async<Keyring> CredentialProviders::Provide(const CredentialProvider& provider, Reference image,
                                            SharedPodIdentity pod, Attempt& attempt) {
  if (clock_.Now() >= attempt.deadline) {
    attempt.recipient = UnknownRecipient(pod);
    co_return Error::DeadlineExceeded(provider.name + ": no time is left to run it");
  }
  Result<std::optional<Recipient>> recipient = co_await RecipientOf(provider, pod, attempt);
  if (!recipient) co_return recipient.error().Prefix(provider.name);
  if (!*recipient) co_return Keyring();
  Recipient found = std::move(**recipient);
  attempt.recipient = found.key;
  Result<Keyring> keyring =
      co_await FindOrRun(provider, std::move(image), std::move(found), attempt);
  co_return keyring;
}

Async<std::optional<CredentialProviders::Recipient>> CredentialProviders::RecipientOf(
    const CredentialProvider& provider, SharedPodIdentity pod, Attempt& attempt) {
  if (!provider.token) co_return Recipient();
  const TokenAttributes& attributes = *provider.token;
  if (!IsAccountsProvider(provider, pod)) {
    if (attributes.require_service_account) co_return std::nullopt;
    co_return Recipient();
  }
  std::vector<std::string> keys = attributes.required_annotations;
  keys.insert(keys.end(), attributes.optional_annotations.begin(),
              attributes.optional_annotations.end());
  PodIdentity identity = *pod;
  attempt.recipient = UnknownRecipient(pod);
  Result<ServiceAccount> account = co_await tokens_->Account(identity, keys, attempt.deadline);
  if (!account) co_return account.error().Prefix("service account " + pod->ns + "/" + pod->account);
  // An annotation may be how an account opts in: its absence is no error.
  for (const std::string& key : attributes.required_annotations) {
    if (!account->annotations.contains(key)) co_return std::nullopt;
  }
  Json whom = {pod->ns, pod->account, account->uid, account->annotations};
  // In place of the kubelet's hash of the token: each pod has its own.
  if (attributes.cache_type == TokenAttributes::CacheType::kToken) whom.push_back(pod->uid);
  co_return Recipient{.key = Sha256Digest(kube::DumpJson(whom)),
                      .ns = pod->ns,
                      .annotations = std::move(account->annotations),
                      .pod = pod};
}

// A provider runs once at a time for a recipient: its answer may also be for the images that wait.
Async<Keyring> CredentialProviders::FindOrRun(const CredentialProvider& provider, Reference image,
                                              Recipient recipient, Attempt& attempt) {
  co_await kube::IgnoreCancellation();
  std::string run = provider.name + " " + recipient.key;
  while (true) {
    CachedAnswer* cached = Find(provider, image, recipient);
    if (cached != nullptr) co_return cached->keyring;
    auto found = running_.find(run);
    if (found == running_.end()) break;
    std::shared_ptr<RunningCall> other = found->second;
    std::string about = "wait for the program that runs for another image";
    Result<void> waited =
        co_await RunningCall::Wait(std::move(other), clock_, attempt.turn, std::move(about));
    if (!waited) co_return waited.error().Prefix(provider.name);
  }
  auto own = std::make_shared<RunningCall>();
  running_[run] = own;
  Result<Keyring> keyring = co_await RunInTurn(provider, image, recipient, attempt);
  if (!keyring && !attempt.is_own_failure && keyring.error().code() != kube::Code::kCancelled) {
    Keep(KeysOf(provider, image, recipient).back(), recipient,
         {keyring, clock_.Now() + kPluginFailureLifetime});
  }
  running_.erase(run);
  own->End();
  co_return keyring;
}

// Tenants decide how many service accounts there are.
Async<Keyring> CredentialProviders::RunInTurn(const CredentialProvider& provider,
                                              const Reference& image, const Recipient& recipient,
                                              Attempt& attempt) {
  if (recipient.key.empty()) {
    Result<Keyring> keyring = co_await Run(provider, image, recipient, attempt);
    co_return keyring;
  }
  std::shared_ptr<NamespaceTurns>& turns = turns_[provider.name];
  if (turns == nullptr) turns = std::make_shared<NamespaceTurns>(clock_, ProgramLimits());
  Result<NamespaceTurns::Turn> turn = co_await turns->Take(recipient.ns, attempt.turn);
  if (!turn) {
    attempt.is_own_failure = true;
    co_return turn.error().Prefix(provider.name);
  }
  Result<Keyring> keyring = co_await Run(provider, image, recipient, attempt);
  co_return keyring;
}

Async<Keyring> CredentialProviders::Run(const CredentialProvider& provider, const Reference& image,
                                        const Recipient& recipient, Attempt& attempt) {
  Json request = {{"apiVersion", provider.api_version},
                  {"kind", "CredentialProviderRequest"},
                  {"image", image.ToString()}};
  std::string token;
  if (recipient.pod != nullptr) {
    PodIdentity identity = *recipient.pod;
    std::string audience = provider.token->audience;
    Result<std::string> created = co_await tokens_->Token(identity, audience, attempt.deadline);
    if (!created) {
      // Deleted, or created again with another UID: no failure for the account's other pods.
      kube::Code code = created.error().code();
      attempt.pod_gone = code == kube::Code::kNotFound || code == kube::Code::kConflict;
      attempt.is_own_failure = attempt.pod_gone || clock_.Now() >= attempt.deadline;
      co_return created.error().Prefix(provider.name + ": service account token");
    }
    token = std::move(*created);
    request["serviceAccountToken"] = token;
    if (!recipient.annotations.empty())
      request["serviceAccountAnnotations"] = recipient.annotations;
  }
  kube::TimePoint started = clock_.Now();
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(attempt.deadline - started);
  if (left.count() <= 0) {
    attempt.is_own_failure = true;
    co_return Error::DeadlineExceeded(provider.name + ": no time is left to run it");
  }
  kube::Command command{.argv = {config_.bin_dir + "/" + provider.name},
                        .env = provider.env,
                        .hidden_prefixes = {kIdentityVariables.begin(), kIdentityVariables.end()},
                        .input = kube::DumpJson(request),
                        .timeout = std::min(kPluginTimeout, left)};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  Result<std::string> output = co_await kube::RunCommand(std::move(command));
  if (!output) co_return output.error();
  Result<ProviderAnswer> answer = ParseProviderAnswer(*output, provider);
  if (!answer) co_return answer.error().Prefix(provider.name);
  kube::TimePoint expires =
      clock_.Now() + answer->duration.value_or(provider.default_cache_duration);
  if (recipient.pod != nullptr) {
    bool of_token = provider.token->cache_type == TokenAttributes::CacheType::kToken;
    // Of use only until the token expires, as the kubelet says too.
    if (!of_token && answer->keyring.HasSecret(token)) {
      co_return Error::Invalid(
          "the answer has the service account token, which needs cacheType "
          "Token")
          .Prefix(provider.name);
    }
    if (of_token) expires = std::min(expires, started + kAccountTokenLifetime - kTokenExpiryMargin);
    if (answer->keyring.bytes() > kMaxAccountAnswerBytes) expires = clock_.Now();
  }
  std::vector<std::string> keys = KeysOf(provider, image, recipient);
  if (expires > clock_.Now()) {
    Keep(keys[static_cast<size_t>(answer->scope)], recipient, {answer->keyring, expires});
  }
  co_return std::move(answer->keyring);
}

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credential_providers.h"

#include <algorithm>
#include <charconv>

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

bool ProviderMatches(const CredentialProvider& provider, const Reference& image) {
  return std::any_of(provider.match_images.begin(), provider.match_images.end(),
                     [&](const std::string& pattern) { return MatchesImage(pattern, image); });
}

}  // namespace

Result<CredentialProviderConfig> ParseCredentialProviderConfig(const std::string& text) {
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
  for (const Json& item : *providers) {
    Result<CredentialProvider> provider = ParseProvider(item);
    if (!provider) return provider.error().Prefix(kAbout);
    const Json* token = kube::Find(item, "tokenAttributes");
    if (token != nullptr && !token->is_null()) {
      config.skipped.push_back("credential provider " + provider->name +
                               " is skipped: it needs service account tokens");
      continue;
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
                                                     const Reference& image) {
  return {provider.name + " image " + image.ToString(),
          provider.name + " registry " + image.registry, provider.name + " global"};
}

CredentialProviders::CachedAnswer* CredentialProviders::Find(const CredentialProvider& provider,
                                                             const Reference& image) {
  for (const std::string& key : KeysOf(provider, image)) {
    CachedAnswer* cached = cache_.Find(key);
    if (cached != nullptr && clock_.Now() < cached->expires) return cached;
  }
  return nullptr;
}

bool CredentialProviders::Matches(const Reference& image) const {
  return std::any_of(
      config_.providers.begin(), config_.providers.end(),
      [&](const CredentialProvider& provider) { return ProviderMatches(provider, image); });
}

kube::asio::awaitable<ProvidedCredentials> CredentialProviders::For(Reference image) {
  co_await kube::IgnoreCancellation();
  ProvidedCredentials provided;
  for (const CredentialProvider& provider : config_.providers) {
    if (!ProviderMatches(provider, image)) continue;
    Result<Keyring> keyring = co_await FindOrRun(provider, image);
    Result<void> added =
        keyring ? provided.keyring.Append(*keyring) : Result<void>(keyring.error());
    if (!added && provided.problem.empty())
      provided.problem = "credential provider " + added.error().message();
  }
  co_return provided;
}

// A provider runs once at a time: its answer may also be for the images that wait.
Async<Keyring> CredentialProviders::FindOrRun(const CredentialProvider& provider, Reference image) {
  co_await kube::IgnoreCancellation();
  while (true) {
    CachedAnswer* cached = Find(provider, image);
    if (cached != nullptr) co_return cached->keyring;
    auto found = running_.find(provider.name);
    if (found == running_.end()) break;
    std::shared_ptr<RunningPlugin> other = found->second;
    while (!other->ended) {
      Result<void> waited = co_await other->done.Wait();
      if (!waited) co_return waited.error();
    }
  }
  auto own = std::make_shared<RunningPlugin>();
  running_[provider.name] = own;
  Result<Keyring> keyring = co_await Run(provider, image);
  bool failed = !keyring && keyring.error().code() != kube::Code::kCancelled;
  if (failed)
    cache_.Put(KeysOf(provider, image).back(), {keyring, clock_.Now() + kPluginFailureLifetime});
  own->ended = true;
  running_.erase(provider.name);
  own->done.NotifyAll();
  co_return keyring;
}

Async<Keyring> CredentialProviders::Run(const CredentialProvider& provider, Reference image) {
  Json request = {{"apiVersion", provider.api_version},
                  {"kind", "CredentialProviderRequest"},
                  {"image", image.ToString()}};
  kube::Command command{.argv = {config_.bin_dir + "/" + provider.name},
                        .env = provider.env,
                        .input = kube::DumpJson(request),
                        .timeout = kPluginTimeout};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  Result<std::string> output = co_await kube::RunCommand(std::move(command));
  if (!output) co_return output.error();
  Result<ProviderAnswer> answer = ParseProviderAnswer(*output, provider);
  if (!answer) co_return answer.error().Prefix(provider.name);
  seconds lifetime = answer->duration.value_or(provider.default_cache_duration);
  std::vector<std::string> keys = KeysOf(provider, image);
  if (lifetime > seconds(0))
    cache_.Put(keys[static_cast<size_t>(answer->scope)],
               {answer->keyring, clock_.Now() + lifetime});
  co_return std::move(answer->keyring);
}

}  // namespace inspection

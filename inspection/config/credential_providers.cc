// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credential_providers.h"

#include <algorithm>
#include <charconv>

#include "inspection/config/host_match.h"
#include "kube/client/command.h"
#include "kube/codec/yaml.h"
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
constexpr std::chrono::seconds kMaxDuration{24 * 3600};
// As the kubelet's.
constexpr std::chrono::milliseconds kTimeout{60'000};
// A plugin that failed is left in peace for so long.
constexpr std::chrono::seconds kRest{10};
constexpr char kGroup[] = "credentialprovider.kubelet.k8s.io/";

// Go's way to write a duration, without fractions: "12h", "1h30m", "90s", "0s".
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
  return std::min(std::chrono::duration_cast<seconds>(total), kMaxDuration);
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
  if (!IsProgramName(provider.name)) return Error::Invalid("name: not that of a program");
  auto matches = StringsAt(json, "matchImages");
  if (!matches || matches->empty())
    return Error::Invalid(provider.name + ": matchImages: no list of patterns");
  provider.match_images = std::move(*matches);
  provider.api_version = kube::StringAt(json, "apiVersion");
  if (!provider.api_version.starts_with(kGroup))
    return Error::Invalid(provider.name + ": apiVersion: not known");
  std::optional<seconds> duration = ParseDuration(kube::StringAt(json, "defaultCacheDuration"));
  if (!duration) return Error::Invalid(provider.name + ": defaultCacheDuration: not a duration");
  provider.default_cache_duration = *duration;
  auto args = StringsAt(json, "args");
  if (!args) return Error::Invalid(provider.name + ": args: not a list of strings");
  provider.args = std::move(*args);
  const Json* env = kube::Find(json, "env");
  if (env != nullptr && env->is_array()) {
    for (const Json& entry : *env)
      provider.env.emplace_back(kube::StringAt(entry, "name"), kube::StringAt(entry, "value"));
  }
  return provider;
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
    return Error::Invalid("providers: no list").Prefix(kAbout);
  }
  for (const Json& item : *providers) {
    Result<CredentialProvider> provider = ParseProvider(item);
    if (!provider) return provider.error().Prefix(kAbout);
    const Json* token = kube::Find(item, "tokenAttributes");
    if (token != nullptr && !token->is_null()) {
      config.left_out.push_back("credential provider " + provider->name +
                                " wants service account tokens");
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
  // The same keys and fields as in docker's configuration.
  const Json* auth = kube::Find(*json, "auth");
  if (auth == nullptr || auth->is_null()) return answer;
  Json document = {{"auths", *auth}};
  Result<void> added =
      answer.keyring.AddSecret("credential provider " + provider.name, kDockerConfigJsonType,
                               document.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!added) return Error::Invalid("the answer's auth is not a map of credentials");
  return answer;
}

std::vector<std::string> CredentialProviders::KeysOf(const CredentialProvider& provider,
                                                     const Reference& image) {
  return {provider.name + " image " + image.ToString(),
          provider.name + " registry " + image.registry, provider.name + " global"};
}

CredentialProviders::Kept* CredentialProviders::Find(const CredentialProvider& provider,
                                                     const Reference& image) {
  for (const std::string& key : KeysOf(provider, image)) {
    Kept* kept = kept_.Find(key);
    if (kept != nullptr && clock_.Now() < kept->until) return kept;
  }
  return nullptr;
}

kube::asio::awaitable<ProvidedCredentials> CredentialProviders::For(Reference image) {
  co_await kube::IgnoreCancellation();
  ProvidedCredentials provided;
  for (const CredentialProvider& provider : config_.providers) {
    bool matches =
        std::any_of(provider.match_images.begin(), provider.match_images.end(),
                    [&](const std::string& pattern) { return MatchesImage(pattern, image); });
    if (!matches) continue;
    Result<Keyring> keyring = co_await Ask(provider, image);
    Result<void> added =
        keyring ? provided.keyring.Append(*keyring) : Result<void>(keyring.error());
    if (!added && provided.problem.empty())
      provided.problem = "credential provider " + added.error().message();
  }
  co_return provided;
}

// One call of a provider at a time: what it says may be good for those who wait, too.
Async<Keyring> CredentialProviders::Ask(const CredentialProvider& provider, Reference image) {
  co_await kube::IgnoreCancellation();
  while (true) {
    if (Kept* kept = Find(provider, image); kept != nullptr) co_return kept->keyring;
    auto found = flights_.find(provider.name);
    if (found == flights_.end()) break;
    std::shared_ptr<Flight> flight = found->second;
    while (!flight->ended) {
      Result<void> waited = co_await flight->done.Wait();
      if (!waited) co_return waited.error();
    }
  }
  auto flight = std::make_shared<Flight>();
  flights_[provider.name] = flight;
  Result<Keyring> keyring = co_await Run(provider, image);
  bool failed = !keyring && keyring.error().code() != kube::Code::kCancelled;
  if (failed) kept_.Put(KeysOf(provider, image).back(), {keyring, clock_.Now() + kRest});
  flight->ended = true;
  flights_.erase(provider.name);
  flight->done.NotifyAll();
  co_return keyring;
}

Async<Keyring> CredentialProviders::Run(const CredentialProvider& provider, Reference image) {
  Json request = {{"apiVersion", provider.api_version},
                  {"kind", "CredentialProviderRequest"},
                  {"image", image.ToString()}};
  kube::Command command{.argv = {config_.bin_dir + "/" + provider.name},
                        .env = provider.env,
                        .input = request.dump(),
                        .timeout = kTimeout};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  ++calls_;
  Result<std::string> output = co_await kube::RunCommand(std::move(command));
  if (!output) co_return output.error();
  Result<ProviderAnswer> answer = ParseProviderAnswer(*output, provider);
  if (!answer) co_return answer.error().Prefix(provider.name);
  seconds keep = answer->duration.value_or(provider.default_cache_duration);
  std::vector<std::string> keys = KeysOf(provider, image);
  if (keep > seconds(0))
    kept_.Put(keys[static_cast<size_t>(answer->scope)], {answer->keyring, clock_.Now() + keep});
  co_return std::move(answer->keyring);
}

}  // namespace inspection

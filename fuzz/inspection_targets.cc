// SPDX-License-Identifier: Apache-2.0
#include <glog/logging.h>

#include "fuzz/fuzz_targets.h"
#include "inspection/base/manifest.h"
#include "inspection/base/reference.h"
#include "inspection/cloud/amazon.h"
#include "inspection/cloud/cloud_http.h"
#include "inspection/cloud/cloud_registry.h"
#include "inspection/config/containerd_hosts.h"
#include "inspection/config/credential_providers.h"
#include "inspection/config/credentials.h"
#include "inspection/config/image_policy.h"
#include "inspection/config/registries_config.h"
#include "inspection/registry/auth.h"
#include "kube/http/url.h"

namespace inspection {
namespace {

using kube::Result;

// Images to look up in each configuration.
const std::vector<Reference>& Images() {
  static const std::vector<Reference> images = [] {
    std::vector<Reference> all;
    for (const char* name : {"nginx", "quay.io/team/app:1",
                             "a.b.example.com:5000/x/y@sha256:"
                             "0000000000000000000000000000000000000000000000000000000000000000"}) {
      all.push_back(*Reference::Parse(name));
    }
    return all;
  }();
  return images;
}

void CheckPlatform(const Platform& platform) {
  CHECK(NormalizeArchitecture(platform.architecture) == platform.architecture)
      << platform.architecture;
}

void FuzzReference(const std::string& input) {
  Result<Reference> reference = Reference::Parse(input);
  if (!reference) return;
  CHECK(IsRegistryHost(reference->registry)) << reference->registry;
  CHECK(IsRepository(reference->repository)) << reference->repository;
  Result<Reference> again = Reference::Parse(reference->ToString());
  CHECK(again) << again.error();
  CHECK_EQ(again->ToString(), reference->ToString());
}

void FuzzRegistriesConf(const std::string& input) {
  Result<RegistriesConfig> config = RegistriesConfig::Parse(input);
  if (!config) return;
  for (const Reference& image : Images()) {
    Result<std::vector<PullSource>> sources = config->Sources(image);
    if (!sources) continue;
    CHECK(!sources->empty());
    for (const PullSource& source : *sources) {
      CHECK(IsRegistryHost(source.registry)) << source.registry;
      CHECK(IsRepository(source.repository)) << source.repository;
    }
  }
}

void FuzzPolicy(const std::string& input) {
  Result<ImagePolicy> policy = ImagePolicy::Parse(input);
  if (!policy) return;
  for (const Reference& image : Images()) {
    Result<void> checked = policy->Check(image);
    CHECK(checked || checked.error().code() == kube::Code::kPermissionDenied);
  }
}

void FuzzDockerConfig(const std::string& input) {
  for (std::string_view type : {kDockerConfigJsonType, kDockerCfgType}) {
    Keyring keyring;
    Result<void> added = keyring.AddSecret("ns/name", type, input);
    if (!added) CHECK_EQ(keyring.size(), 0u);
    for (const Reference& image : Images()) {
      for (const Credential& credential : keyring.Match(image.registry, image.repository)) {
        CHECK(credential.username.find(':') == std::string::npos);
      }
    }
  }
}

void FuzzManifest(const std::string& input) {
  Result<Manifest> manifest = ParseManifest(input);
  if (!manifest) return;
  for (const Platform& platform : manifest->platforms) CheckPlatform(platform);
  for (const Descriptor& nested : manifest->nested) CHECK(IsDigest(nested.digest));
  for (const Descriptor& entry : manifest->without_platform) CHECK(IsDigest(entry.digest));
  if (manifest->kind == Manifest::Kind::kImage) CHECK(IsDigest(manifest->config.digest));
}

void FuzzImageConfig(const std::string& input) {
  Result<ImageConfig> config = ParseImageConfig(input);
  if (config && !config->platform.architecture.empty()) CheckPlatform(config->platform);
  CHECK(!config || config->bundle || !config->platform.architecture.empty());
}

void FuzzChallenge(const std::string& input) {
  std::vector<Challenge> challenges = ParseChallenges(input);
  CHECK_LE(challenges.size(), 8u);
  for (const Challenge& challenge : challenges) CHECK_LE(challenge.params.size(), 16u);
  Result<Token> token = ParseTokenResponse(input);
  CHECK(!token || !token->value.empty());
}

void FuzzHostsToml(const std::string& input) {
  Result<std::vector<ContainerdHost>> hosts = ParseHostsToml(input);
  if (!hosts) return;
  for (const ContainerdHost& host : *hosts) {
    CHECK(IsRegistryHost(host.registry)) << host.registry;
    for (const auto& [name, value] : host.host.headers) {
      CHECK(!name.empty() && value.find_first_of("\r\n") == std::string::npos);
    }
  }
}

void FuzzCredentialProviders(const std::string& input) {
  static const CredentialProvider provider{.name = "p",
                                           .api_version = "credentialprovider.kubelet.k8s.io/v1"};
  Result<ProviderAnswer> answer = ParseProviderAnswer(input, provider);
  if (answer && answer->duration) CHECK_GE(answer->duration->count(), 0);
  Result<CredentialProviderConfig> config =
      ParseCredentialProviderConfig(input, /*account_tokens=*/true);
  if (!config) return;
  for (const CredentialProvider& one : config->providers) {
    CHECK(!one.name.empty() && one.name.find('/') == std::string::npos) << one.name;
    for (const std::string& pattern : one.match_images) MatchesImage(pattern, Images().front());
  }
}

void FuzzCloud(const std::string& input) {
  Result<AwsCredentials> credentials = ParseAssumedRole(input);
  if (credentials) CHECK_EQ(credentials->session_token.find_first_of("\r\n <"), std::string::npos);
  Result<ExchangedLogin> login = ParseEcrLogin(input, kube::WallTime());
  if (login) CHECK(IsSecret(login->username) && IsSecret(login->password));
  Result<kube::Json> answer = ParseCloudAnswer("answer", input);
  if (answer) {
    Result<std::string> secret = SecretAt(*answer, "access_token");
    CHECK(!secret || !secret->empty());
    CHECK_GE(LifetimeAt(*answer, "expires_in").count(), 0);
  }
  std::optional<CloudRegistry> registry = CloudRegistryOf(input);
  if (!registry) return;
  // Its parts make the URLs that a credential is sent to.
  Result<kube::Url> url = kube::Url::Parse("https://" + registry->host + "/");
  CHECK(url) << url.error();
  CHECK_EQ(url->host, input);
  CHECK_EQ(url->port, "443");
  CHECK(IsRegistryHost(registry->host)) << registry->host;
}

}  // namespace
}  // namespace inspection

namespace fuzz {

std::vector<FuzzTarget> InspectionTargets() {
  return {
      {"challenge", inspection::FuzzChallenge},
      {"cloud", inspection::FuzzCloud},
      {"credential-providers", inspection::FuzzCredentialProviders},
      {"dockerconfig", inspection::FuzzDockerConfig},
      {"hosts-toml", inspection::FuzzHostsToml},
      {"image-config", inspection::FuzzImageConfig},
      {"manifest", inspection::FuzzManifest},
      {"policy", inspection::FuzzPolicy},
      {"reference", inspection::FuzzReference},
      {"registries-conf", inspection::FuzzRegistriesConf},
  };
}

}  // namespace fuzz

// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credential_providers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "inspection/testing/mutate.h"
#include "inspection/testing/test_folder.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kConfig[] = R"(
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ecr
  matchImages: ["*.dkr.ecr.*.example.com", "r.io:5000/team"]
  defaultCacheDuration: "12h"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get-credentials]
  env:
  - {name: REGION, value: north}
)";

// Plugins record their calls in files.
class CredentialProvidersTest : public TestFolder {
 protected:
  CredentialProvidersTest() {
    config_ = *ParseCredentialProviderConfig(kConfig);
    config_.bin_dir = root_;
  }
  void WritePlugin(const std::string& script) {
    std::filesystem::permissions(
        Write("ecr", "#!/bin/sh\necho run >> " + root_ + "/runs\n" + script),
        std::filesystem::perms::owner_all);
  }
  int PluginRuns() const {
    std::ifstream runs(root_ + "/runs");
    int count = 0;
    for (std::string line; std::getline(runs, line);) ++count;
    return count;
  }
  void WritePluginWithAnswer(const std::string& scope, const std::string& duration) {
    WritePlugin(
        "echo \"$1 $REGION $(cat)\" >> " + root_ + "/calls\ncat <<'EOF'\n" +
        R"({"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":")" +
        scope + "\"," + duration +
        R"("auth":{"*.dkr.ecr.*.example.com":{"username":"AWS","password":"pass"}}})" + "\nEOF\n");
  }
  ProvidedCredentials For(const std::string& image) {
    std::optional<ProvidedCredentials> provided;
    struct Caller {
      static kube::Async<ProvidedCredentials> Call(CredentialProviders& providers,
                                                   Reference reference) {
        ProvidedCredentials provided = co_await providers.For(std::move(reference));
        co_return provided;
      }
    };
    return *kube::Run(io_, Caller::Call(providers(), *Reference::Parse(image)));
  }
  CredentialProviders& providers() {
    if (!providers_) providers_.emplace(clock_, config_);
    return *providers_;
  }

  kube::asio::io_context io_;
  kube::FakeClock clock_;
  CredentialProviderConfig config_;
  std::optional<CredentialProviders> providers_;
};

constexpr char kImage[] = "1.dkr.ecr.north.example.com/app:1";

TEST_F(CredentialProvidersTest, APluginIsRunAsTheKubeletRunsIt) {
  WritePluginWithAnswer("Registry", "");
  ProvidedCredentials provided = For(kImage);
  EXPECT_THAT(provided.problem, IsEmpty());
  auto credentials = provided.keyring.Match("1.dkr.ecr.north.example.com", "app");
  ASSERT_EQ(credentials.size(), 1u);
  EXPECT_EQ(credentials[0].username, "AWS");
  EXPECT_THAT(credentials[0].source, HasSubstr("credential provider ecr"));
  std::ifstream calls(root_ + "/calls");
  std::string call{std::istreambuf_iterator<char>(calls), std::istreambuf_iterator<char>()};
  EXPECT_THAT(call,
              AllOf(HasSubstr("get-credentials north "), HasSubstr("CredentialProviderRequest"),
                    HasSubstr(R"("image":"1.dkr.ecr.north.example.com/app:1")")));
}

TEST_F(CredentialProvidersTest, APluginIsNotRunForImagesOfOtherRegistries) {
  WritePluginWithAnswer("Global", "");
  EXPECT_TRUE(For("quay.io/app:1").keyring.empty());
  EXPECT_EQ(PluginRuns(), 0);
}

TEST_F(CredentialProvidersTest, AnAnswerIsCachedForItsScopeAndDuration) {
  WritePluginWithAnswer("Registry", R"("cacheDuration":"1h",)");
  For(kImage);
  For("1.dkr.ecr.north.example.com/other:2");
  EXPECT_EQ(PluginRuns(), 1);
  For("2.dkr.ecr.north.example.com/app:1");
  EXPECT_EQ(PluginRuns(), 2);
  clock_.Advance(2h);
  For(kImage);
  EXPECT_EQ(PluginRuns(), 3);
}

TEST_F(CredentialProvidersTest, TheDefaultDurationComesFromTheConfiguration) {
  WritePluginWithAnswer("Image", "");
  For(kImage);
  clock_.Advance(11h);
  For(kImage);
  EXPECT_EQ(PluginRuns(), 1);
  For("1.dkr.ecr.north.example.com/app:2");
  EXPECT_EQ(PluginRuns(), 2);
}

TEST_F(CredentialProvidersTest, AFailureIsReportedAndCached) {
  WritePlugin("exit 3\n");
  EXPECT_THAT(For(kImage).problem,
              AllOf(HasSubstr("credential provider "), HasSubstr("/ecr: exit code 3")));
  For(kImage);
  EXPECT_EQ(PluginRuns(), 1);
  clock_.Advance(1min);
  WritePlugin("echo secret\n");
  EXPECT_THAT(For(kImage).problem, AllOf(HasSubstr("not a JSON object"), Not(HasSubstr("secret"))));
  EXPECT_EQ(PluginRuns(), 2);
  std::filesystem::remove(root_ + "/ecr");
  clock_.Advance(1min);
  EXPECT_THAT(For(kImage).problem, HasSubstr("No such file"));
}

TEST(CredentialProviderConfigTest, PatternsMatchAsInTheKubelet) {
  struct Row {
    const char* pattern;
    const char* image;
    bool matches;
  };
  for (const Row& row :
       {Row{"*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.eu-1.amazonaws.com/a:1", true},
        Row{"*.dkr.ecr.*.amazonaws.com", "dkr.ecr.eu-1.amazonaws.com/a:1", false},
        Row{"*.io", "gcr.io/a", true}, Row{"*.io", "eu.gcr.io/a", false},
        Row{"*.*.io", "eu.gcr.io/a", true}, Row{"docker.io", "nginx", true},
        Row{"r.io:8080/path", "r.io:8080/path/a", true},
        Row{"r.io:8080/path", "r.io/path/a", false}, Row{"r.io/path", "r.io/other/a", false},
        Row{"r.io", "r.io:443/a", false}}) {
    EXPECT_EQ(MatchesImage(row.pattern, *Reference::Parse(row.image)), row.matches)
        << row.pattern << " " << row.image;
  }
}

TEST(CredentialProviderConfigTest, ErrorsNameTheField) {
  auto with = [](std::string from, std::string to) {
    std::string text = kConfig;
    text.replace(text.find(from), from.size(), to);
    return ParseCredentialProviderConfig(text);
  };
  EXPECT_THAT(with("name: ecr", "name: ../ecr"),
              FailsWith(Code::kInvalid, HasSubstr("name: not a program's name")));
  EXPECT_THAT(with("credentialprovider.kubelet", "other"),
              FailsWith(Code::kInvalid, HasSubstr("apiVersion")));
  EXPECT_THAT(with("\"12h\"", "\"often\""),
              FailsWith(Code::kInvalid, HasSubstr("defaultCacheDuration")));
  EXPECT_THAT(with("CredentialProviderConfig", "Other"),
              FailsWith(Code::kInvalid, HasSubstr("kind")));
  EXPECT_THAT(ParseCredentialProviderConfig("a: [\n"), FailsWith(Code::kInvalid));
  auto tokens = with("  args:", "  tokenAttributes: {serviceAccountTokenAudience: a}\n  args:");
  ASSERT_THAT(tokens, IsOk());
  EXPECT_THAT(tokens->providers, IsEmpty());
  EXPECT_THAT(tokens->skipped,
              ElementsAre(HasSubstr("ecr is skipped: it needs service account tokens")));
}

TEST(CredentialProviderConfigTest, DamagedConfigurationsAreErrorsOrHaveValidProviders) {
  ForMutations({kConfig}, 2000, [](const std::string& text) {
    auto config = ParseCredentialProviderConfig(text);
    if (!config) return;
    for (const CredentialProvider& provider : config->providers) {
      EXPECT_FALSE(provider.name.empty() || provider.name.find('/') != std::string::npos) << text;
    }
  });
}

}  // namespace
}  // namespace inspection

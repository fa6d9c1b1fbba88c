// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credential_providers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "inspection/base/timing.h"
#include "inspection/testing/fake_account_tokens.h"
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
  // RunUntil() looks again after a handler has run, which a program that writes a file causes late.
  bool RunUntilPluginRuns(int count) {
    kube::asio::steady_timer timer(io_);
    auto waits = std::make_shared<bool>(true);
    std::function<void()> look = [&] {
      timer.expires_after(10ms);
      timer.async_wait([&look, waits](boost::system::error_code) {
        if (*waits) look();
      });
    };
    look();
    bool ran = kube::RunUntil(io_, [&] { return PluginRuns() == count; });
    *waits = false;
    return ran;
  }
  ProvidedCredentials For(const std::string& image) { return For(image, nullptr); }
  ProvidedCredentials For(const std::string& image, SharedPodIdentity pod) {
    struct Caller {
      static kube::Async<ProvidedCredentials> Call(CredentialProviders& providers,
                                                   Reference reference, SharedPodIdentity pod,
                                                   kube::TimePoint deadline) {
        ProvidedCredentials provided =
            co_await providers.For(std::move(reference), std::move(pod), deadline);
        co_return provided;
      }
    };
    return *kube::Run(
        io_, Caller::Call(providers(), *Reference::Parse(image), std::move(pod), Deadline()));
  }
  kube::TimePoint Deadline() const { return clock_.Now() + kCredentialsTimeout; }
  CredentialProviders& providers() {
    if (!providers_) providers_.emplace(clock_, config_, &tokens_);
    return *providers_;
  }

  kube::asio::io_context io_;
  kube::FakeClock clock_;
  FakeAccountTokens tokens_;
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

// An ECR plugin without a role from the pod's account would fall back to the controller's.
TEST_F(CredentialProvidersTest, APluginDoesNotGetThisProcesssIdentityInACloud) {
  for (const char* name : {"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CLIENT_ID",
                           "GCE_METADATA_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_REGION"})
    setenv(name, "controllers", 1);
  config_.providers[0].env.emplace_back("AWS_REGION", "north");
  WritePlugin("env > " + root_ + "/env\nexit 3\n");
  For(kImage);
  std::ifstream file(root_ + "/env");
  std::string env{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(
      env, AllOf(HasSubstr("PATH="), HasSubstr("AWS_REGION=north"), Not(HasSubstr("controllers"))));
  for (const char* name : {"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CLIENT_ID",
                           "GCE_METADATA_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_REGION"})
    unsetenv(name);
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

// --- With tokens of service accounts

class AccountProvidersTest : public CredentialProvidersTest {
 protected:
  AccountProvidersTest() {
    config_.providers[0].token.emplace();
    attributes().audience = "registry";
    tokens_.accounts["ns/web"] = {.uid = "1", .annotations = {{"example.com/role", "reader"}}};
    tokens_.accounts["ns/db"] = {.uid = "2", .annotations = {}};
    tokens_.accounts["other/web"] = {.uid = "3", .annotations = {}};
    // The password is the number of this run.
    WritePlugin("cat >> " + root_ + "/requests; echo >> " + root_ + "/requests\n" +
                R"(printf '{"kind":"CredentialProviderResponse",)"
                R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1",)"
                R"("cacheKeyType":"Registry","auth":{"*.dkr.ecr.*.example.com":)"
                R"({"username":"AWS","password":"run-%s"}}}' "$(wc -l < )" +
                root_ + "/runs | tr -d ' ')\"\n");
  }
  TokenAttributes& attributes() { return *config_.providers[0].token; }
  static SharedPodIdentity Pod(const std::string& ns, const std::string& account,
                               const std::string& name) {
    return std::make_shared<const PodIdentity>(PodIdentity{ns, name, "uid-" + name, account});
  }
  // The password for the pod; "" for none.
  std::string PasswordFor(const SharedPodIdentity& pod) {
    ProvidedCredentials provided = For(kImage, pod);
    problem_ = provided.problem;
    auto credentials = provided.keyring.Match("1.dkr.ecr.north.example.com", "app");
    return credentials.empty() ? "" : credentials[0].password;
  }
  std::string Requests() const {
    std::ifstream file(root_ + "/requests");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::string problem_;
};

TEST_F(AccountProvidersTest, APluginGetsATokenOfThePodsAccountAndItsAnnotations) {
  attributes().required_annotations = {"example.com/role"};
  attributes().optional_annotations = {"example.com/absent"};
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  EXPECT_THAT(Requests(),
              AllOf(HasSubstr(R"("serviceAccountToken":"token of ns/web for registry, web-0")"),
                    HasSubstr(R"("serviceAccountAnnotations":{"example.com/role":"reader"})")));
}

TEST_F(AccountProvidersTest, AnAnswerServesThePodsOfOneAccount) {
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-1")), "run-1");
  EXPECT_EQ(PasswordFor(Pod("ns", "db", "db-0")), "run-2");
  EXPECT_EQ(PasswordFor(Pod("other", "web", "web-0")), "run-3");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  EXPECT_EQ(tokens_.issued, 3);
}

TEST_F(AccountProvidersTest, AnAccountThatIsCreatedAgainOrChangedIsAnotherOne) {
  attributes().optional_annotations = {"example.com/role"};
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  tokens_.accounts["ns/web"].annotations["example.com/role"] = "writer";
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-2");
  tokens_.accounts["ns/web"].uid = "4";
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-3");
}

TEST_F(AccountProvidersTest, WithCacheTypeTokenAnAnswerServesOnePodUntilItsTokenExpires) {
  attributes().cache_type = TokenAttributes::CacheType::kToken;
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-1")), "run-2");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-1");
  clock_.Advance(kAccountTokenLifetime);
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-3");
}

TEST_F(AccountProvidersTest, WithoutARequiredAnnotationThePluginIsNotRun) {
  attributes().required_annotations = {"example.com/role"};
  EXPECT_EQ(PasswordFor(Pod("ns", "db", "db-0")), "");
  EXPECT_THAT(problem_, IsEmpty());
  EXPECT_EQ(tokens_.issued, 0);
}

TEST_F(AccountProvidersTest, WithoutAnAccountThePluginIsRunOnlyIfNoneIsRequired) {
  EXPECT_EQ(PasswordFor(Pod("ns", "", "static")), "");
  EXPECT_EQ(PasswordFor(nullptr), "");
  attributes().require_service_account = false;
  providers_.reset();
  EXPECT_EQ(PasswordFor(Pod("ns", "", "static")), "run-1");
  EXPECT_THAT(Requests(), Not(HasSubstr("serviceAccountToken")));
  // It serves no pod with an account.
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "run-2");
}

TEST_F(AccountProvidersTest, WithoutTheRightForTokensTheProblemSaysSo) {
  tokens_.failure = kube::Error::PermissionDenied("403");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "");
  EXPECT_THAT(problem_, HasSubstr("ecr: service account token: 403"));
  EXPECT_EQ(PluginRuns(), 0);
  EXPECT_EQ(PasswordFor(Pod("ns", "absent", "web-0")), "");
  EXPECT_THAT(problem_, HasSubstr("ecr: service account ns/absent: not found"));
}

TEST_F(AccountProvidersTest, APodThatIsGoneIsNoFailureOfItsAccount) {
  for (const kube::Error& error : {kube::Error::NotFound("pods \"web-0\" not found"),
                                   kube::Error::Conflict("the UID does not match")}) {
    SCOPED_TRACE(error.message());
    providers_.reset();
    tokens_.failure = error;
    ProvidedCredentials provided = For(kImage, Pod("ns", "web", "web-0"));
    EXPECT_TRUE(provided.pod_gone);
    EXPECT_THAT(provided.problem, HasSubstr(error.message()));
    tokens_.failure.reset();
    provided = For(kImage, Pod("ns", "web", "web-1"));
    EXPECT_FALSE(provided.pod_gone);
    EXPECT_FALSE(provided.keyring.empty());
  }
}

TEST_F(AccountProvidersTest, AMissingProgramIsAFailureOfTheAccount) {
  std::filesystem::remove(root_ + "/ecr");
  for (int i = 0; i < 2; ++i) {
    ProvidedCredentials provided = For(kImage, Pod("ns", "web", "web-0"));
    EXPECT_THAT(provided.problem, HasSubstr("No such file"));
    EXPECT_FALSE(provided.pod_gone);
  }
  EXPECT_EQ(tokens_.issued, 1) << "the failure is cached";
}

// The registry's refusal says nothing then.
TEST_F(AccountProvidersTest, WhatFailsForAMomentIsAnOutage) {
  const SharedPodIdentity pod = Pod("ns", "web", "web-0");
  for (const kube::Error& error :
       {kube::Error::Unavailable("503"), kube::Error::Throttled("429"),
        kube::Error::DeadlineExceeded("late"), kube::Error::PermissionDenied("403")}) {
    bool wanted = error.code() != Code::kPermissionDenied;
    providers_.reset();
    tokens_.account_failure = error;
    EXPECT_EQ(For(kImage, pod).outage.has_value(), wanted) << error;
    tokens_.account_failure.reset();
    tokens_.failure = error;
    EXPECT_EQ(For(kImage, pod).outage.has_value(), wanted) << error;
    tokens_.failure.reset();
  }
  providers_.reset();
  EXPECT_FALSE(For(kImage, pod).outage);
  WritePlugin("exit 3\n");
  providers_.reset();
  std::optional<kube::Error> outage = For(kImage, pod).outage;
  ASSERT_TRUE(outage);
  EXPECT_EQ(outage->code(), Code::kUnavailable);
  EXPECT_THAT(outage->message(), HasSubstr("credential provider: "));
  EXPECT_TRUE(For(kImage, pod).outage) << "also while it is remembered";
}

TEST_F(AccountProvidersTest, TheIdentityIsThatOfTheRecipientWithAndWithoutCredentials) {
  std::string web = For(kImage, Pod("ns", "web", "web-0")).identity;
  EXPECT_EQ(For(kImage, Pod("ns", "web", "web-1")).identity, web);
  EXPECT_NE(For(kImage, Pod("ns", "db", "db-0")).identity, web);
  EXPECT_NE(For(kImage, Pod("other", "web", "web-0")).identity, web);
  EXPECT_EQ(For("quay.io/app:1", Pod("ns", "web", "web-0")).identity, "");
  providers_.reset();
  tokens_.failure = kube::Error::Unavailable("503");
  EXPECT_EQ(For(kImage, Pod("ns", "web", "web-0")).identity, web);
  tokens_.accounts["ns/web"].uid = "another";
  EXPECT_NE(For(kImage, Pod("ns", "web", "web-0")).identity, web);
  // Of an account that cannot be read, nothing is known.
  tokens_.account_failure = kube::Error::Unavailable("503");
  std::string unknown = For(kImage, Pod("ns", "web", "web-0")).identity;
  EXPECT_NE(unknown, web);
  EXPECT_NE(For(kImage, Pod("ns", "db", "db-0")).identity, unknown);
}

TEST_F(AccountProvidersTest, RequestsToTheApiServerEndAtTheDeadline) {
  PasswordFor(Pod("ns", "web", "web-0"));
  EXPECT_THAT(tokens_.deadlines, ElementsAre(Deadline(), Deadline()));
  tokens_.deadlines.clear();
  config_.providers.push_back(config_.providers[0]);
  config_.providers[1].name = "second";
  providers_.reset();
  std::vector<ProvidedCredentials> answers;
  kube::asio::co_spawn(
      io_, providers().For(*Reference::Parse(kImage), Pod("ns", "web", "web-0"), clock_.Now()),
      [&](std::exception_ptr, const ProvidedCredentials& answer) { answers.push_back(answer); });
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return answers.size() == 1; }));
  EXPECT_THAT(answers[0].problem, HasSubstr("no time is left"));
  EXPECT_TRUE(answers[0].outage);
  EXPECT_THAT(tokens_.deadlines, IsEmpty());
  // Nothing of that is remembered.
  EXPECT_NE(PasswordFor(Pod("ns", "web", "web-0")), "");
}

// As in the kubelet: the credential would be used by other pods after the token expires.
TEST_F(AccountProvidersTest, ATokenAsThePasswordNeedsTheCacheTypeToken) {
  WritePlugin(R"(printf '{"kind":"CredentialProviderResponse",)"
              R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry",)"
              R"("auth":{"*.dkr.ecr.*.example.com":{"username":"AWS",)"
              R"("password":"token of ns/web for registry, web-0"}}}')");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "");
  EXPECT_THAT(problem_, AllOf(HasSubstr("needs cacheType Token"), Not(HasSubstr("token of"))));
  WritePlugin(R"(printf '{"kind":"CredentialProviderResponse",)"
              R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry",)"
              R"("auth":{"*.dkr.ecr.*.example.com":)"
              R"({"identitytoken":"token of ns/web for registry, web-0"}}}')");
  providers_.reset();
  EXPECT_TRUE(For(kImage, Pod("ns", "web", "web-0")).keyring.empty());
  WritePlugin(R"(printf '{"kind":"CredentialProviderResponse",)"
              R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry",)"
              R"("auth":{"*.dkr.ecr.*.example.com":{"username":"AWS",)"
              R"("password":"token of ns/web for registry, web-0"}}}')");
  attributes().cache_type = TokenAttributes::CacheType::kToken;
  providers_.reset();
  EXPECT_THAT(PasswordFor(Pod("ns", "web", "web-0")), HasSubstr("token of ns/web"));
}

TEST_F(AccountProvidersTest, ALargeAnswerIsUsedAndNotCached) {
  std::string pad(CredentialProviders::kMaxAccountAnswerBytes, 'x');
  WritePlugin(R"(printf '{"kind":"CredentialProviderResponse",)"
              R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry",)"
              R"("auth":{"*.dkr.ecr.*.example.com":{"username":"AWS","password":"p"},)"
              R"("o.io":{"username":")" +
              pad.substr(0, 9000) + R"("},"p.io":{"username":")" + pad.substr(0, 9000) +
              R"("}}}')");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "p");
  EXPECT_EQ(PasswordFor(Pod("ns", "web", "web-0")), "p");
  EXPECT_EQ(PluginRuns(), 2);
}

TEST_F(AccountProvidersTest, TheAnswersOfANamespaceEvictNoOthers) {
  EXPECT_EQ(PasswordFor(Pod("other", "web", "web-0")), "run-1");
  for (size_t i = 0; i <= CredentialProviders::kMaxNamespaceAnswers; ++i) {
    std::string account = "a" + std::to_string(i);
    tokens_.accounts["ns/" + account] = {.uid = account, .annotations = {}};
    PasswordFor(Pod("ns", account, "p"));
  }
  int runs = PluginRuns();
  EXPECT_EQ(PasswordFor(Pod("other", "web", "web-0")), "run-1");
  EXPECT_EQ(PasswordFor(Pod("ns", "a1", "p")), "run-3");
  EXPECT_EQ(PluginRuns(), runs);
  PasswordFor(Pod("ns", "a0", "p"));
  EXPECT_EQ(PluginRuns(), runs + 1) << "the least recently used one of the namespace";
}

// Tenants create service accounts and pods; plugins are processes.
TEST_F(AccountProvidersTest, PluginsAreLimitedAndANamespaceLeavesRoomForOthers) {
  WritePlugin("mkdir -p " + root_ + "/running; touch " + root_ + "/running/$$\n" + "ls " + root_ +
              "/running | wc -l >> " + root_ + "/counts\n" + "while [ ! -e " + root_ +
              "/go ]; do sleep 0.05; done\nrm " + root_ + "/running/$$\nexit 3\n");
  std::vector<std::string> ended;
  auto ask = [&](const std::string& ns, const std::string& account) {
    tokens_.accounts[ns + "/" + account] = {.uid = ns + account, .annotations = {}};
    kube::asio::co_spawn(
        io_, providers().For(*Reference::Parse(kImage), Pod(ns, account, "p"), Deadline()),
        [&ended, ns](std::exception_ptr, const ProvidedCredentials&) { ended.push_back(ns); });
  };
  for (int i = 0; i < 6; ++i) ask("greedy", "a" + std::to_string(i));
  ask("ns", "web");
  ASSERT_TRUE(RunUntilPluginRuns(3));
  EXPECT_EQ(PluginRuns(), 3) << "two of the namespace, and one of the other";
  Write("go", "");
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return ended.size() == 7; }));
  EXPECT_EQ(PluginRuns(), 7);
  std::ifstream counts(root_ + "/counts");
  for (int count; counts >> count;) EXPECT_LE(count, 3);
}

TEST_F(AccountProvidersTest, PluginsOfAllNamespacesTogetherAreLimited) {
  WritePlugin("while [ ! -e " + root_ + "/go ]; do sleep 0.05; done\nexit 3\n");
  int ended = 0;
  for (const char* ns : {"a", "b", "c"}) {
    for (const char* account : {"web", "db"}) {
      tokens_.accounts[std::string(ns) + "/" + account] = {.uid = std::string(ns) + account,
                                                           .annotations = {}};
      kube::asio::co_spawn(
          io_, providers().For(*Reference::Parse(kImage), Pod(ns, account, "p"), Deadline()),
          [&](std::exception_ptr, const ProvidedCredentials&) { ++ended; });
    }
  }
  ASSERT_TRUE(RunUntilPluginRuns(4));
  // Tokens are issued before a program starts.
  kube::Drain(io_);
  EXPECT_EQ(tokens_.issued, 4);
  EXPECT_EQ(PluginRuns(), 4);
  Write("go", "");
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return ended == 6; }));
  EXPECT_EQ(PluginRuns(), 6);
}

// A slow provider costs the images of all others no more than this.
TEST_F(AccountProvidersTest, AWaitForThePluginsOfOthersIsBounded) {
  WritePlugin("while [ ! -e " + root_ + "/go ]; do sleep 0.05; done\nexit 3\n");
  std::vector<std::string> problems;
  auto ask = [&](const std::string& ns, const std::string& account, const std::string& name) {
    tokens_.accounts[ns + "/" + account] = {.uid = ns + account, .annotations = {}};
    kube::asio::co_spawn(io_,
                         providers().For(*Reference::Parse(std::string(kImage) + name),
                                         Pod(ns, account, "p"), Deadline()),
                         [&](std::exception_ptr, const ProvidedCredentials& provided) {
                           problems.push_back(provided.problem);
                         });
  };
  for (const char* account : {"web", "db"}) {
    for (const char* ns : {"a", "b"}) ask(ns, account, "");
  }
  ASSERT_TRUE(RunUntilPluginRuns(4));
  ask("c", "web", "");   // for a turn
  ask("a", "web", "2");  // for the program of its account
  kube::Drain(io_);
  clock_.Advance(kPluginTurnTimeout - 1ms);
  kube::Drain(io_);
  EXPECT_THAT(problems, IsEmpty());
  clock_.Advance(1ms);
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return problems.size() == 2; }));
  EXPECT_THAT(problems, ::testing::UnorderedElementsAre(
                            HasSubstr("ecr: wait for a turn: at most 4 programs of the provider"),
                            HasSubstr("ecr: wait for the program that runs for another image")));
  // That is no failure of the account: its next inspection waits for a turn too.
  ask("c", "web", "");
  kube::Drain(io_);
  EXPECT_EQ(problems.size(), 2u);
  Write("go", "");
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return problems.size() == 7; }));
  EXPECT_EQ(PluginRuns(), 5);
}

TEST_F(CredentialProvidersTest, AProgramIsEndedAtTheDeadline) {
  WritePlugin("sleep 60\n");
  struct Caller {
    static kube::Async<ProvidedCredentials> Call(CredentialProviders& providers,
                                                 kube::TimePoint deadline) {
      Reference image = *Reference::Parse(kImage);
      SharedPodIdentity pod;
      ProvidedCredentials provided = co_await providers.For(image, pod, deadline);
      co_return provided;
    }
  };
  auto provided = kube::Run(io_, Caller::Call(providers(), clock_.Now() + 100ms));
  ASSERT_THAT(provided, IsOk());
  EXPECT_THAT(provided->problem, HasSubstr("ecr"));
  EXPECT_EQ(PluginRuns(), 1);
  clock_.Advance(kPluginFailureLifetime);
  provided = kube::Run(io_, Caller::Call(providers(), clock_.Now()));
  EXPECT_THAT(provided->problem, HasSubstr("ecr: no time is left to run it"));
  EXPECT_EQ(PluginRuns(), 1);
}

TEST_F(AccountProvidersTest, TheSharingKeyIsWhatAnAnswerIsFor) {
  Reference image = *Reference::Parse(kImage);
  Reference other = *Reference::Parse("quay.io/app:1");
  auto key = [&](const std::string& ns, const std::string& account, const std::string& name) {
    return providers().SharingKey(image, Pod(ns, account, name));
  };
  EXPECT_EQ(key("ns", "web", "web-0"), key("ns", "web", "web-1"));
  EXPECT_NE(key("ns", "web", "web-0"), key("ns", "db", "web-0"));
  EXPECT_NE(key("ns", "web", "web-0"), key("other", "web", "web-0"));
  EXPECT_EQ(providers().SharingKey(other, Pod("ns", "web", "web-0")), "");
  EXPECT_EQ(key("ns", "", "static"), "");
  attributes().cache_type = TokenAttributes::CacheType::kToken;
  providers_.reset();
  EXPECT_NE(key("ns", "web", "web-0"), key("ns", "web", "web-1"));
}

TEST(TokenAttributesTest, AreReadAsTheKubeletReadsThem) {
  auto parse = [](const std::string& attributes) {
    std::string text = kConfig;
    text += "  tokenAttributes: {" + attributes + "}\n";
    return ParseCredentialProviderConfig(text, /*account_tokens=*/true);
  };
  const std::string valid = "serviceAccountTokenAudience: a, requireServiceAccount: true";
  auto config = parse(valid +
                      ", cacheType: Token, requiredServiceAccountAnnotationKeys: [a.io/r], "
                      "optionalServiceAccountAnnotationKeys: [a.io/o]");
  ASSERT_THAT(config, IsOk());
  EXPECT_THAT(config->skipped, IsEmpty());
  ASSERT_EQ(config->providers.size(), 1u);
  TokenAttributes wanted{.audience = "a",
                         .cache_type = TokenAttributes::CacheType::kToken,
                         .require_service_account = true,
                         .required_annotations = {"a.io/r"},
                         .optional_annotations = {"a.io/o"}};
  EXPECT_EQ(config->providers[0].token, wanted);

  struct Row {
    std::string attributes;
    const char* message;
  };
  for (const Row& row :
       {Row{"", "serviceAccountTokenAudience: required"},
        Row{"serviceAccountTokenAudience: a, requireServiceAccount: true", "cacheType"},
        Row{valid + ", cacheType: Pod", "cacheType: not ServiceAccount or Token"},
        Row{"serviceAccountTokenAudience: a, cacheType: Token", "requireServiceAccount: required"},
        Row{"serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: false, "
            "requiredServiceAccountAnnotationKeys: [r]",
            "not without requireServiceAccount"},
        Row{valid + ", cacheType: Token, requiredServiceAccountAnnotationKeys: [r], "
                    "optionalServiceAccountAnnotationKeys: [r]",
            "named twice"},
        Row{valid + ", cacheType: Token, requiredServiceAccountAnnotationKeys: r", "not lists"}}) {
    EXPECT_THAT(parse(row.attributes),
                FailsWith(Code::kInvalid,
                          AllOf(HasSubstr("ecr: tokenAttributes: "), HasSubstr(row.message))))
        << row.attributes;
  }
  std::string keys;
  for (int i = 0; i < 65; ++i) keys += "k" + std::to_string(i) + ", ";
  EXPECT_THAT(
      parse(valid + ", cacheType: Token, optionalServiceAccountAnnotationKeys: [" + keys + "]"),
      FailsWith(Code::kInvalid, HasSubstr("at most 64 strings")));
  std::string old = kConfig;
  old.replace(old.find("kubelet.k8s.io/v1"), 17, "kubelet.k8s.io/v1beta1");
  EXPECT_THAT(ParseCredentialProviderConfig(
                  old + "  tokenAttributes: {" + valid + ", cacheType: Token}\n", true),
              FailsWith(Code::kInvalid, HasSubstr("needs apiVersion")));
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

// A skipped provider counts too: with the option for tokens, the file would be refused.
TEST(CredentialProviderConfigTest, TwoProvidersOfOneNameAreRefused) {
  constexpr char kSecond[] =
      "  matchImages: [r.io]\n  defaultCacheDuration: 1h\n"
      "  apiVersion: credentialprovider.kubelet.k8s.io/v1\n";
  std::string text = std::string(kConfig) + "- name: gcr\n" + kSecond;
  EXPECT_THAT(ParseCredentialProviderConfig(text), IsOk());
  for (const char* more : {"", "  tokenAttributes: {serviceAccountTokenAudience: a}\n"}) {
    EXPECT_THAT(ParseCredentialProviderConfig(text + "- name: ecr\n" + kSecond + more),
                FailsWith(Code::kInvalid, HasSubstr("ecr: name: another provider has it")));
  }
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

// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/registry_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "inspection/base/digest.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/base/base64.h"
#include "kube/base/slots.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/fake_name_server.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Fault = FakeRegistry::Fault;

class RegistryClientTest : public RegistryFixture {
 protected:
  RegistryClientTest() {
    options_.fetch.backoff = 1ms;
    options_.breaker = {.first_probe = 0ms, .probe_interval = 0ms};
    registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  }

  Repository App(std::vector<Credential> credentials = {}) {
    return {{registry_.host(), "app", true, "test"}, std::move(credentials)};
  }
  static Credential User(const std::string& name, const std::string& password) {
    return {.username = name, .password = password, .source = "ns/" + name};
  }
  RegistryClient& client() {
    if (!client_) client_.emplace(io_.get_executor(), kube::RealClock(), options_);
    return *client_;
  }
  kube::Result<Document> Manifest(Repository repository, std::string version = "1",
                                  kube::Duration timeout = 10s) {
    return kube::Run(io_,
                     client().Manifest(repository, version, kube::RealClock().Now() + timeout));
  }
  kube::Result<Document> Blob(std::string digest) {
    return kube::Run(io_, client().Blob(App(), digest, kube::RealClock().Now() + 10s));
  }

  RegistryClientOptions options_;
  std::optional<RegistryClient> client_;
};

TEST_F(RegistryClientTest, AKnownOpenRegistryCostsOneRequest) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.ClearLog();
  auto got = Manifest(App());
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->digest, Sha256Digest(got->body));
  EXPECT_THAT(registry_.log(), ElementsAre("GET /v2/app/manifests/1"));
}

TEST_F(RegistryClientTest, TagsOfAllPages) {
  for (int i = 2; i < 8; ++i)
    registry_.PutIndex("app", "v" + std::to_string(i), {{"linux", "amd64"}});
  registry_.PutIndex("other", "9", {{"linux", "amd64"}});
  auto tags = [&] { return kube::Run(io_, client().Tags(App(), kube::RealClock().Now() + 10s)); };
  EXPECT_THAT(*tags(), ElementsAre("1", "v2", "v3", "v4", "v5", "v6", "v7"));
  registry_.LimitTags(3);
  registry_.ClearLog();
  EXPECT_THAT(*tags(), ElementsAre("1", "v2", "v3", "v4", "v5", "v6", "v7"));
  EXPECT_EQ(registry_.Count("tags/list"), 3);
  registry_.PutIndex("app", std::string(129, 'x'), {{"linux", "amd64"}});
  registry_.LimitTags(1000);
  EXPECT_EQ(tags()->size(), 7u);
  // A registry with a tag on each page does not go on for ever.
  for (int i = 0; i < 60; ++i)
    registry_.PutIndex("app", "w" + std::to_string(i), {{"linux", "amd64"}});
  registry_.LimitTags(1);
  registry_.ClearLog();
  EXPECT_EQ(tags()->size(), 20u);
  EXPECT_EQ(registry_.Count("tags/list"), 20);
  // Nor one that says that there is more, and has nothing.
  registry_.LimitTags(0);
  EXPECT_THAT(*tags(), ::testing::IsEmpty());
}

class BlobRangeTest : public RegistryClientTest {
 protected:
  BlobRangeTest() {
    for (int i = 0; content_.size() < 300'000; ++i) content_ += std::to_string(i) + " ";
    digest_ = registry_.PutBlob(content_);
  }
  // Reads until `limit` bytes are there.
  kube::Result<uint64_t> Read(uint64_t offset, uint64_t length, size_t limit = 1u << 30) {
    read_.clear();
    auto receive = [this, limit](std::string_view piece) {
      EXPECT_FALSE(piece.empty());
      read_ += piece;
      return read_.size() < limit;
    };
    return kube::Run(io_, client().BlobRange(App(), digest_, offset, length, receive,
                                             kube::RealClock().Now() + 10s));
  }

  std::string content_, digest_, read_;
};

TEST_F(BlobRangeTest, OnlyTheRangeIsSent) {
  auto got = Read(1000, 50'000);
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(*got, 50'000u);
  EXPECT_TRUE(read_ == content_.substr(1000, 50'000));
  EXPECT_EQ(registry_.blob_bytes(), 50'000u);
  ASSERT_THAT(Read(content_.size() - 10, 50'000), IsOk());
  EXPECT_EQ(read_, content_.substr(content_.size() - 10));
  EXPECT_THAT(Read(content_.size(), 10), FailsWith(Code::kInvalid, HasSubstr("416")));
  EXPECT_EQ(*Read(0, 0), 0u);
}

TEST_F(BlobRangeTest, WithCredentialsAndARedirect) {
  registry_.RequireBasic("u", "p");
  auto receive = [this](std::string_view piece) {
    read_ += piece;
    return true;
  };
  FakeRegistry store(io_.get_executor(), {});
  store.PutBlob(content_);
  registry_.Redirect("/blobs/", store.url() + "/v2/x/blobs/" + digest_);
  auto got = kube::Run(io_, client().BlobRange(App({User("u", "p")}), digest_, 5, 7, receive,
                                               kube::RealClock().Now() + 10s));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(read_, content_.substr(5, 7));
  EXPECT_EQ(store.blob_bytes(), 7u);
  EXPECT_THAT(store.authorizations(), Each(""));
}

TEST_F(BlobRangeTest, ARegistryWithoutRangesIsReadUntilTheEnd) {
  registry_.IgnoreRanges();
  ASSERT_THAT(Read(1000, 10), IsOk());
  EXPECT_TRUE(read_ == content_.substr(1000));
  // The receiver ends it before.
  auto got = Read(0, 10, 20'000);
  ASSERT_THAT(got, IsOk());
  EXPECT_GE(*got, 20'000u);
  EXPECT_LT(*got, 100'000u);
}

TEST_F(BlobRangeTest, ABrokenConnectionIsContinued) {
  for (bool ranges : {true, false}) {
    if (!ranges) registry_.IgnoreRanges();
    registry_.InjectFault("/blobs/", Fault::kShortBody, 2);
    ASSERT_THAT(Read(1000, 200'000), IsOk());
    EXPECT_TRUE(read_.substr(0, 200'000) == content_.substr(1000, 200'000));
    registry_.InjectFault("/blobs/", Fault::kBroken, 1);
    ASSERT_THAT(Read(0, 200'000), IsOk());
    EXPECT_TRUE(read_.substr(0, 200'000) == content_.substr(0, 200'000));
  }
}

TEST_F(BlobRangeTest, HostileAnswers) {
  registry_.InjectFault("/blobs/", Fault::kOtherRange);
  EXPECT_THAT(Read(0, 10), FailsWith(Code::kInvalid, HasSubstr("another range")));
  registry_.ClearFaults();
  // A body without an end: until the receiver has enough.
  registry_.InjectFault("/blobs/", Fault::kEndlessBody);
  ASSERT_THAT(Read(0, 10, 1u << 20), IsOk());
  EXPECT_LT(read_.size(), 2u << 20);
  registry_.ClearFaults();
  EXPECT_THAT(
      kube::Run(io_, client().BlobRange(
                         App(), "sha256:" + std::string(64, '0'), 0, 10,
                         [](std::string_view) { return true; }, kube::RealClock().Now() + 10s)),
      FailsWith(Code::kNotFound));
}

TEST_F(RegistryClientTest, HeadNamesTheDigestWithoutTheBody) {
  auto manifest = Manifest(App());
  ASSERT_THAT(manifest, IsOk());
  registry_.ClearLog();
  auto got = kube::Run(io_, client().ManifestDigest(App(), "1", kube::RealClock().Now() + 10s));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(*got, manifest->digest);
  EXPECT_THAT(registry_.log(), ElementsAre("HEAD /v2/app/manifests/1"));
}

TEST_F(RegistryClientTest, ABasicChallengeIsAnsweredAndCached) {
  registry_.RequireBasic("u", "p");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(registry_.Count("manifests"), 2);
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(registry_.Count("manifests"), 3);
}

TEST_F(RegistryClientTest, TheNextCredentialIsUsedAfterA401) {
  registry_.RequireToken("right", "p");
  auto got = Manifest(App({User("wrong", "hunter2"), User("right", "p"), User("unused", "x")}));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(registry_.Count("/token"), 2);
}

TEST_F(RegistryClientTest, AnErrorCountsCredentialsAndHidesThem) {
  registry_.RequireToken("right", "p");
  auto got = Manifest(App({User("wrong", "hunter2"), User("other", "hunter2")}));
  EXPECT_THAT(got, FailsWith(Code::kUnauthenticated,
                             AllOf(HasSubstr("registry " + registry_.host() +
                                             ": 401 Unauthorized with 2 credentials tried"),
                                   Not(HasSubstr("hunter2")))));
}

TEST_F(RegistryClientTest, ATokenIsUsedUntilItIsRefused) {
  registry_.RequireToken("u", "p");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  registry_.ClearLog();
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_THAT(registry_.log(), ElementsAre("GET /v2/app/manifests/1"));
  registry_.RevokeTokens();
  registry_.ClearLog();
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_THAT(registry_.log(),
              ElementsAre("GET /v2/app/manifests/1", "GET /token", "GET /v2/app/manifests/1"));
}

// The cached challenge does not change anonymous requests.
TEST_F(RegistryClientTest, AChallengeIsCachedForItsRepositoryOnly) {
  registry_.PutIndex("private", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  registry_.RequireBasic("u", "p");
  registry_.Publish("app");
  Repository secret = App({User("u", "p")});
  secret.source.repository = "private";
  ASSERT_THAT(Manifest(secret), IsOk());
  EXPECT_THAT(Manifest(App()), IsOk());
  secret.credentials.clear();
  EXPECT_THAT(Manifest(secret), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(Manifest(App()), IsOk());
  registry_.Publish("private");
  EXPECT_THAT(Manifest(secret), IsOk());
}

TEST_F(RegistryClientTest, ACachedChallengeIsDroppedWhenItFails) {
  std::vector<Credential> credentials = {User("other", "x"), User("u", "p")};
  for (const std::vector<Credential>& asked_with : {std::vector<Credential>(), credentials}) {
    registry_.AllowAnonymous();
    registry_.RequireToken("", "");
    registry_.RequireToken("u", "p");
    ASSERT_THAT(Manifest(App(asked_with)), IsOk());
    // The registry needs no token any more, and its token server fails.
    registry_.AllowAnonymous();
    registry_.RevokeTokens();
    registry_.InjectFault("/token", Fault::kBroken);
    registry_.RejectScheme("Bearer");
    EXPECT_THAT(Manifest(App(asked_with)), IsOk());
    registry_.ClearFaults();
  }
  registry_.RequireBasic("u", "p");
  ASSERT_THAT(Manifest(App(credentials)), IsOk());
  registry_.AllowAnonymous();
  registry_.RequireToken("u", "p");
  EXPECT_THAT(Manifest(App(credentials)), IsOk());
}

// Or the pod's passwords would go to a server that a blob store names.
TEST_F(RegistryClientTest, OnlyTheChallengesOfTheRegistryAreAnswered) {
  FakeRegistry store(io_.get_executor(), {});
  store.RequireBasic("u", "p");
  registry_.Redirect("manifests/", store.url() + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(App({User("u", "p")})), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(store.authorizations(), Each(""));
  EXPECT_THAT(registry_.authorizations(), Each(""));
}

TEST_F(RegistryClientTest, TokensAreCachedByUser) {
  registry_.RequireToken("u", "p");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(Manifest(App({User("u", "other")})), FailsWith(Code::kUnauthenticated));
}

TEST_F(RegistryClientTest, AnonymousTokensAreUsedForPublicRepositories) {
  registry_.RequireToken("", "");
  EXPECT_THAT(Manifest(App()), IsOk());
}

TEST_F(RegistryClientTest, AnIdentityTokenIsExchangedForAnAccessToken) {
  registry_.AcceptRefreshToken("refresh");
  Credential credential{.username = "00000000-0000-0000-0000-000000000000",
                        .identity_token = "refresh",
                        .source = "ns/s"};
  EXPECT_THAT(Manifest(App({credential})), IsOk());
  EXPECT_EQ(registry_.Count("POST /token"), 1);
}

TEST_F(RegistryClientTest, AnIdentityTokenIsNotSentAlongARedirectToAnotherHost) {
  FakeRegistry other(io_.get_executor(), {});
  registry_.AcceptRefreshToken("refresh");
  registry_.UseTokenServer(registry_.url() + "/v2/moved");
  registry_.Redirect("/v2/moved", other.url() + "/token");
  Credential credential{.identity_token = "refresh", .source = "ns/s"};
  EXPECT_THAT(Manifest(App({credential})), Not(IsOk()));
  EXPECT_EQ(other.Count("POST"), 0);
}

TEST_F(RegistryClientTest, TransientErrorsAreRetried) {
  for (Fault fault : {Fault::kBroken, Fault::kReset}) {
    registry_.InjectFault("manifests/", fault, 2);
    EXPECT_THAT(Manifest(App()), IsOk());
  }
  registry_.InjectFault("manifests/", Fault::kBroken);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable, HasSubstr("503")));
}

class RegistryIsDownTest : public RegistryClientTest {
 protected:
  RegistryIsDownTest() {
    options_.breaker = CircuitBreakerOptions{};
    options_.fetch.attempts = 1;
  }
  Repository Other() {
    Repository other = App();
    other.source.repository = "other";
    return other;
  }
};

TEST_F(RegistryIsDownTest, ADocumentThatCannotBeReadIsNotAskedForByEachPod) {
  registry_.PutImage("app", "other", {"linux", "amd64"});
  registry_.InjectFault("app/manifests/1", Fault::kBroken);
  for (int i = 0; i < 100; ++i)
    EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable, HasSubstr("503")));
  EXPECT_EQ(registry_.Count("app/manifests/1"), 1);
  // One damaged image, or one of another registry behind this one, says nothing of others.
  EXPECT_THAT(Manifest(App(), "other"), IsOk());
}

// The body is that of Debian's docker-registry 2.8 as a proxy.
TEST_F(RegistryIsDownTest, ADigestThatAProxysUpstreamDoesNotHaveIsNoFailure) {
  std::string body =
      R"({"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"errors":)"
      R"([{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Name":"app"}}]}}]})";
  kube::ScriptedServer server(
      io_.get_executor(), {}, [&](kube::ScriptedPeer& peer) -> kube::asio::awaitable<void> {
        while (true) {
          std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
          if (!request) co_return;
          std::string answer =
              "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body;
          bool sent = co_await peer.Write(std::move(answer));
          if (!sent) co_return;
        }
      });
  Repository proxy{{server.url().Authority(), "app", true, "test"}, {}};
  std::string digest = "sha256:" + std::string(64, 'b');
  EXPECT_THAT(Manifest(proxy, digest), FailsWith(Code::kNotFound, HasSubstr("MANIFEST_UNKNOWN")));
  // Only the detail tells this from a registry that is down.
  body = R"({"errors":[{"code":"UNKNOWN","detail":{"Status":"503 Service Unavailable"}}]})";
  EXPECT_THAT(Manifest(proxy, digest),
              FailsWith(Code::kUnavailable, AllOf(HasSubstr("500"), HasSubstr("(UNKNOWN)"))));
}

TEST_F(RegistryIsDownTest, AHostThatRefusesConnectionsIsNotAskedForEachRepository) {
  Repository gone = App();
  {
    FakeRegistry registry(io_.get_executor(), {});
    gone.source.registry = registry.host();
  }
  EXPECT_THAT(Manifest(gone), FailsWith(Code::kUnavailable, Not(HasSubstr("asked again"))));
  gone.source.repository = "other";
  EXPECT_THAT(Manifest(gone), FailsWith(Code::kUnavailable, HasSubstr("asked again")));
}

// The other host may be a blob store or a token server that no network policy allows.
TEST_F(RegistryIsDownTest, AHostThatAnsweredIsNotDownIfAnotherOneIs) {
  std::string gone;
  {
    FakeRegistry registry(io_.get_executor(), {});
    gone = registry.url();
  }
  registry_.PutImage("other", "1", {"linux", "amd64"});
  registry_.Redirect("app/manifests/", gone + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable, HasSubstr("asked again")));
  EXPECT_THAT(Manifest(Other()), IsOk());
}

TEST_F(RegistryIsDownTest, AnAnswerThatIsCutSaysNothingOfTheHost) {
  registry_.PutImage("other", "1", {"linux", "amd64"});
  registry_.InjectFault("app/manifests/", Fault::kShortBody, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Manifest(Other()), IsOk());
}

TEST_F(RegistryIsDownTest, ALimitOfRequestsIsThatOfItsUserAndRepository) {
  registry_.PutImage("app", "other", {"linux", "amd64"});
  registry_.PutImage("other", "1", {"linux", "amd64"});
  registry_.InjectFault("app/manifests/", Fault::kThrottled, 1);
  EXPECT_THAT(Manifest(App(), "1", 500ms), FailsWith(Code::kThrottled));
  EXPECT_THAT(Manifest(App(), "other", 500ms),
              FailsWith(Code::kThrottled, HasSubstr("asked again")));
  EXPECT_THAT(Manifest(App({User("u", "p")})), IsOk());
  // A proxy passes on the limit of the registry behind it.
  EXPECT_THAT(Manifest(Other()), IsOk());
  // HEAD does not count.
  auto head = kube::Run(io_, client().ManifestDigest(App(), "1", kube::RealClock().Now() + 10s));
  EXPECT_THAT(head, IsOk());
  EXPECT_THAT(Manifest(App(), "other", 500ms), FailsWith(Code::kThrottled));
}

TEST_F(RegistryClientTest, RetryAfterIsHonouredWithinTheDeadline) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.InjectFault("manifests/", Fault::kThrottled, 1);
  EXPECT_THAT(Manifest(App()), IsOk());
  registry_.InjectFault("manifests/", Fault::kThrottled);
  auto got = Manifest(App(), "1", 500ms);
  ASSERT_THAT(got, FailsWith(Code::kThrottled));
  EXPECT_EQ(got.error().retry_after(), 1s);
}

TEST_F(RegistryClientTest, HostileBodiesAreRefused) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.InjectFault("manifests/", Fault::kEndlessBody, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid));
  registry_.InjectFault("manifests/", Fault::kShortBody, 3);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable));
  registry_.InjectFault("manifests/", Fault::kLyingDigest, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid, HasSubstr("manifest 1")));
  registry_.InjectFault("manifests/", Fault::kOtherBody, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid));
}

TEST_F(RegistryClientTest, TheErrorCodeOfTheRegistryIsInTheMessage) {
  EXPECT_THAT(Manifest(App(), "sha256:" + std::string(64, '0')),
              FailsWith(Code::kNotFound, HasSubstr("MANIFEST_UNKNOWN")));
}

TEST_F(RegistryClientTest, RequestedDigestsAreVerified) {
  std::string manifest = registry_.PutImage("app", "2", {"linux", "s390x"});
  std::string blob = registry_.PutBlob("content");
  EXPECT_THAT(Manifest(App(), manifest), IsOk());
  EXPECT_THAT(Blob(blob), IsOk());
  registry_.InjectFault("/v2/", Fault::kOtherBody);
  EXPECT_THAT(Manifest(App(), manifest), FailsWith(Code::kInvalid));
  EXPECT_THAT(Blob(blob), FailsWith(Code::kInvalid));
}

// The digest of a signed schema 1 manifest covers a part only: a server could change the rest.
TEST_F(RegistryClientTest, ADigestCoversTheWholeBody) {
  std::string payload = R"({"architecture":1})";
  // The first 17 bytes were signed, and "}".
  std::string signature = kube::Base64Encode(R"({"formatLength":17,"formatTail":"fQ"})");
  std::string signed_text =
      R"({"architecture":1,"signatures":[{"protected":")" + signature + R"("}]})";
  std::string media_type = "application/vnd.docker.distribution.manifest.v1+prettyjws";
  kube::ScriptedServer server(
      io_.get_executor(), {}, [&](kube::ScriptedPeer& peer) -> kube::asio::awaitable<void> {
        std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
        if (!request) co_return;
        EXPECT_THAT(request->Header("Accept"), Not(HasSubstr(media_type)));
        std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: " + media_type +
                             "\r\nContent-Length: " + std::to_string(signed_text.size()) +
                             "\r\n\r\n" + signed_text;
        co_await peer.Write(std::move(answer));
      });
  Repository repository{{server.url().Authority(), "app", true, "test"}, {}};
  EXPECT_THAT(Manifest(repository, Sha256Digest(payload)),
              FailsWith(Code::kInvalid, HasSubstr("content is")));
}

TEST_F(RegistryClientTest, ASilentRegistryEndsWithTheDeadline) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.InjectFault("manifests/", Fault::kSilent);
  EXPECT_THAT(Manifest(App(), "1", 50ms), FailsWith(Code::kDeadlineExceeded));
}

TEST_F(RegistryClientTest, CredentialsAreNotSentAlongARedirectToAnotherHost) {
  registry_.RequireBasic("u", "p");
  FakeRegistry store(io_.get_executor(), {});
  std::string digest = store.PutBlob("content");
  registry_.Redirect("blobs/", store.url() + "/v2/app/blobs/" + digest + "?signature=x");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  auto got =
      kube::Run(io_, client().Blob(App({User("u", "p")}), digest, kube::RealClock().Now() + 10s));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->body, "content");
  EXPECT_THAT(store.authorizations(), ElementsAre(""));
}

TEST_F(RegistryClientTest, RedirectsAreLimitedAndMayNotReachPrivateAddresses) {
  std::string digest = registry_.PutBlob("content");
  registry_.Redirect("blobs/", "/v2/app/blobs/" + digest);
  EXPECT_THAT(Blob(digest), FailsWith(Code::kInvalid, HasSubstr("redirects")));
  registry_.ClearFaults();
  registry_.Redirect("blobs/", "http://169.254.169.254/latest/meta-data/");
  EXPECT_THAT(Blob(digest), FailsWith(Code::kPermissionDenied, HasSubstr("169.254.169.254")));
  registry_.ClearFaults();
  registry_.Redirect("blobs/", "file:///etc/passwd");
  EXPECT_THAT(Blob(digest), FailsWith(Code::kInvalid));
}

TEST_F(RegistryClientTest, ATokenServerMayHaveAnotherPortAtTheRegistrysAddress) {
  FakeRegistry tokens(io_.get_executor(), {});
  tokens.RequireToken("u", "p");
  registry_.RequireToken("u", "p");
  registry_.UseTokenServer("http://localhost" + tokens.host().substr(tokens.host().find(':')) +
                           "/token");
  EXPECT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(tokens.Count("/token"), 1);
}

// An address where nothing answers.
TEST_F(RegistryClientTest, ATokenServerOnAnotherPrivateAddressMustBeConfigured) {
  options_.fetch.attempts = 1;
  registry_.RequireToken("u", "p");
  registry_.UseTokenServer("http://10.255.255.1:1/token");
  auto got = Manifest(App({User("u", "p")}), "1", 300ms);
  EXPECT_THAT(got, FailsWith(Code::kPermissionDenied,
                             AllOf(HasSubstr("10.255.255.1"), HasSubstr("registries.conf"))));
  for (const std::string& named : {std::string("10.255.255.1:1"), registry_.host()}) {
    options_.transport.named_hosts = {named};
    client_.reset();
    EXPECT_THAT(Manifest(App({User("u", "p")}), "1", 300ms),
                Not(FailsWith(Code::kPermissionDenied)))
        << named;
  }
}

// An attacker who owns the names controls the addresses that they resolve to.
TEST_F(RegistryClientTest, NamesDoNotDecideWhereARegistryMayRefer) {
  kube::FakeNameServer names(io_.get_executor());
  names.Add("registry.test", {"127.0.0.1"});
  names.Add("internal.test", {"127.0.0.1"});
  names.Add("metadata.test", {"169.254.169.254"});
  options_.transport.names = names.servers();
  options_.fetch.attempts = 1;
  FakeRegistry internal(io_.get_executor(), {});
  std::string port = internal.host().substr(internal.host().find(':'));
  Repository repository = App();
  repository.source.registry =
      "registry.test" + registry_.host().substr(registry_.host().find(':'));
  registry_.Redirect("manifests/", "http://internal.test" + port + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(repository), FailsWith(Code::kPermissionDenied, HasSubstr("internal.test")));
  registry_.ClearFaults();
  // Its own host and port, while the name resolves to the same address.
  registry_.RequireToken("", "");
  registry_.UseTokenServer("http://" + repository.source.registry + "/token");
  EXPECT_THAT(Manifest(repository), IsOk());
  registry_.ClearFaults();
  repository.source.registry = "metadata.test";
  EXPECT_THAT(Manifest(repository, "1", 1s),
              FailsWith(Code::kPermissionDenied, HasSubstr("metadata.test")));
}

TEST_F(RegistryClientTest, MetadataServicesAreRefused) {
  Repository metadata{{"169.254.169.254", "app", true, "test"}, {}};
  EXPECT_THAT(Manifest(metadata, "1", 300ms),
              FailsWith(Code::kPermissionDenied, HasSubstr("link-local")));
}

// Two large bodies at a time.
class LargeBodiesTest : public RegistryClientTest {
 protected:
  using Place = std::optional<kube::Result<Document>>;

  LargeBodiesTest() {
    options_.transport.large_bodies = slots_;
    std::string content =
        R"({"schemaVersion":2,"padding":")" + std::string(400u << 10, 'x') + R"("})";
    registry_.PutManifest("app", "large", std::move(content), kOciIndex);
    EXPECT_THAT(Manifest(App()), IsOk());
  }

  // Starts a request whose answer is stored in the returned place.
  std::shared_ptr<Place> Start(std::string version, kube::Duration timeout = 10s) {
    return Start(std::move(version), timeout, App());
  }
  std::shared_ptr<Place> Start(std::string version, kube::Duration timeout, Repository repository) {
    auto place = std::make_shared<Place>();
    auto ask = [](RegistryClient& client, Repository repository, std::string version,
                  kube::TimePoint deadline,
                  std::shared_ptr<Place> place) -> kube::asio::awaitable<void> {
      kube::Result<Document> document = co_await client.Manifest(repository, version, deadline);
      *place = std::move(document);
    };
    kube::TimePoint deadline = kube::RealClock().Now() + timeout;
    kube::asio::co_spawn(io_,
                         ask(client(), std::move(repository), std::move(version), deadline, place),
                         [](std::exception_ptr) {});
    return place;
  }

  std::shared_ptr<kube::Slots> slots_ = std::make_shared<kube::Slots>(
      io_.get_executor(), kube::RealClock(), 2, "a large body's turn");
};

TEST_F(LargeBodiesTest, NoMoreThanTheLimitAreInMemory) {
  std::vector<std::shared_ptr<Place>> asked;
  for (int i = 0; i < 10; ++i) asked.push_back(Start("large"));
  auto in_memory = [&] {
    return std::count_if(asked.begin(), asked.end(),
                         [](const auto& place) { return place->has_value(); });
  };
  for (size_t waiting = 8;; --waiting) {
    ASSERT_TRUE(
        kube::RunUntil(io_, [&] { return in_memory() == 2 && slots_->waiting() == waiting; }));
    if (waiting == 0) break;
    // Destroying an answer releases its slot to the next one.
    auto read = std::find_if(asked.begin(), asked.end(),
                             [](const auto& place) { return place->has_value(); });
    ASSERT_THAT(***read, IsOk());
    asked.erase(read);
  }
  asked.clear();
  EXPECT_EQ(slots_->busy(), 0u);
}

TEST_F(LargeBodiesTest, SmallBodiesDoNotWaitForStalledLargeOnes) {
  registry_.InjectFault("manifests/large", Fault::kStalledBody, 3);
  std::vector<std::shared_ptr<Place>> stalled;
  for (int i = 0; i < 3; ++i) stalled.push_back(Start("large", 3s));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 2 && slots_->waiting() == 1; }));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Manifest(App()), IsOk());
  EXPECT_EQ(slots_->waiting(), 1u);
  // All end with their deadline, including the one that waits, and release their slots.
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return *stalled[0] && *stalled[1] && *stalled[2]; }));
  for (const auto& place : stalled) EXPECT_THAT(**place, FailsWith(Code::kDeadlineExceeded));
  EXPECT_EQ(slots_->busy(), 0u);
  EXPECT_THAT(Manifest(App(), "large"), IsOk());
}

TEST_F(LargeBodiesTest, ALargeErrorBodyReleasesItsSlotAtOnce) {
  std::string error =
      R"({"errors":[{"code":"DENIED","message":")" + std::string(400u << 10, 'x') + R"("}]})";
  int attempts = 0;
  kube::ScriptedServer server(
      io_.get_executor(), {}, [&](kube::ScriptedPeer& peer) -> kube::asio::awaitable<void> {
        while (true) {
          std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
          if (!request) co_return;
          ++attempts;
          co_await peer.Reply(503, error);
        }
      });
  options_.fetch.backoff = 1s;
  options_.fetch.attempts = 2;
  client_.reset();
  Repository repository{{server.url().Authority(), "app", true, "test"}, {}};
  const size_t before = kube::HeapInUse();
  std::shared_ptr<Place> place = Start("1", 10s, repository);
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 1; }));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 0; }));
  EXPECT_EQ(attempts, 1) << "held until the next attempt";
  if (kube::kHeapIsMeasured) {
    EXPECT_LT(kube::HeapInUse(), before + error.size() / 2) << "its memory is kept";
  }
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return place->has_value(); }));
  EXPECT_THAT(**place, FailsWith(Code::kUnavailable, HasSubstr("503")));
}

class TlsTest : public RegistryClientTest {
 protected:
  TlsTest() {
    auto authority =
        kube::NewCertificateAuthority("test", std::chrono::hours(1), kube::RealClock());
    ca_ = *authority;
    serving_ = *kube::NewServingCertificate(ca_, {"127.0.0.1", "localhost"}, std::chrono::hours(1),
                                            kube::RealClock());
    tls_ = std::make_unique<FakeRegistry>(io_.get_executor(),
                                          FakeRegistryOptions{.certificate = serving_});
    tls_->PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  }
  Repository Secure(bool insecure = false) {
    std::string host = tls_->host();
    return {{"localhost" + host.substr(host.find(':')), "app", insecure, "test"}, {}};
  }

  kube::KeyPair ca_;
  kube::KeyPair serving_;
  std::unique_ptr<FakeRegistry> tls_;
};

TEST_F(TlsTest, AnUnknownAuthorityIsRefusedUnlessInsecure) {
  options_.fetch.attempts = 1;
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kUnavailable));
  EXPECT_THAT(tls_->log(), IsEmpty());
  EXPECT_THAT(Manifest(Secure(true)), IsOk());
}

TEST_F(TlsTest, AnAuthorityOfTheBundleIsTrusted) {
  options_.transport.ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, AnAuthorityOfOneRegistryIsTrustedThere) {
  options_.transport.host_tls[Secure().source.registry].ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, InvalidCertificatesAreAnErrorForTheirRegistryOnly) {
  options_.transport.ca_pem = ca_.certificate_pem;
  options_.transport.host_tls[Secure().source.registry].problem = "client.cert has no client.key";
  EXPECT_THAT(Manifest(Secure()),
              FailsWith(Code::kInvalid, HasSubstr("client.cert has no client.key")));
  EXPECT_THAT(Manifest(App()), IsOk());
}

TEST_F(TlsTest, AClientCertificateIsPresentedToItsRegistry) {
  kube::KeyPair client =
      *kube::NewServingCertificate(ca_, {"client"}, std::chrono::hours(1), kube::RealClock());
  tls_ = std::make_unique<FakeRegistry>(
      io_.get_executor(),
      FakeRegistryOptions{.certificate = serving_, .client_ca_pem = ca_.certificate_pem});
  tls_->PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  options_.fetch.attempts = 1;
  HostTls& tls = options_.transport.host_tls[Secure().source.registry];
  tls.ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kUnavailable));
  client_.reset();
  tls.cert_pem = client.certificate_pem;
  tls.key_pem = client.private_key_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, ARedirectFromHttpsToHttpIsRefused) {
  options_.transport.ca_pem = ca_.certificate_pem;
  tls_->Redirect("manifests/", registry_.url() + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(TlsTest, PlainHttpIsForInsecureRegistriesOnly) {
  options_.fetch.attempts = 1;
  Repository plain = App();
  plain.source.insecure = false;
  EXPECT_FALSE(Manifest(plain));
  EXPECT_EQ(registry_.Count("manifests"), 0);
  // Also if HTTP is its cached scheme.
  ASSERT_THAT(Manifest(App()), IsOk());
  EXPECT_FALSE(Manifest(plain));
  EXPECT_EQ(registry_.Count("manifests"), 1);
}

}  // namespace
}  // namespace inspection

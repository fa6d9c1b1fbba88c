// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/registry_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "inspection/digest.h"
#include "inspection/testing/fake_registry.h"
#include "kube/base/base64.h"
#include "kube/base/slots.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/fake_name_server.h"
#include "kube/http/testing/scripted_server.h"
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
using Trouble = FakeRegistry::Trouble;

class RegistryClientTest : public ::testing::Test {
 protected:
  RegistryClientTest() {
    options_.fetch.backoff = 1ms;
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

  kube::asio::io_context io_;
  FakeRegistry registry_{io_.get_executor(), {}};
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

TEST_F(RegistryClientTest, HeadNamesTheDigestWithoutTheBody) {
  auto manifest = Manifest(App());
  ASSERT_THAT(manifest, IsOk());
  registry_.ClearLog();
  auto got = kube::Run(io_, client().ManifestDigest(App(), "1", kube::RealClock().Now() + 10s));
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(*got, manifest->digest);
  EXPECT_THAT(registry_.log(), ElementsAre("HEAD /v2/app/manifests/1"));
}

TEST_F(RegistryClientTest, BasicIsAnsweredAndRemembered) {
  registry_.RequireBasic("u", "p");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(registry_.Count("manifests"), 2);
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(registry_.Count("manifests"), 3);
}

TEST_F(RegistryClientTest, TheNextCredentialIsTriedAfterA401) {
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

TEST_F(RegistryClientTest, ATokenServesUntilItIsRefused) {
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

// What one repository wants is no matter of another's, nor of who asks without a credential.
TEST_F(RegistryClientTest, APrivateRepositoryDoesNotSpoilAPublicOne) {
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

TEST_F(RegistryClientTest, ARememberedChallengeNeverDecides) {
  std::vector<Credential> credentials = {User("other", "x"), User("u", "p")};
  for (const std::vector<Credential>& asked_with : {std::vector<Credential>(), credentials}) {
    registry_.RequireNothing();
    registry_.RequireToken("", "");
    registry_.RequireToken("u", "p");
    ASSERT_THAT(Manifest(App(asked_with)), IsOk());
    // The token server goes away with the need for it.
    registry_.RequireNothing();
    registry_.RevokeTokens();
    registry_.Misbehave("/token", Trouble::kBroken);
    registry_.Refuse("Bearer");
    EXPECT_THAT(Manifest(App(asked_with)), IsOk());
    registry_.Behave();
  }
  registry_.RequireBasic("u", "p");
  ASSERT_THAT(Manifest(App(credentials)), IsOk());
  registry_.RequireNothing();
  registry_.RequireToken("u", "p");
  EXPECT_THAT(Manifest(App(credentials)), IsOk());
}

// Its passwords would go to whoever a blob store names.
TEST_F(RegistryClientTest, OnlyTheRegistryItselfMayAskForCredentials) {
  FakeRegistry store(io_.get_executor(), {});
  store.RequireBasic("u", "p");
  registry_.Redirect("manifests/", store.url() + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(App({User("u", "p")})), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(store.authorizations(), Each(""));
  EXPECT_THAT(registry_.authorizations(), Each(""));
}

TEST_F(RegistryClientTest, OneUsersTokenIsNotAnothers) {
  registry_.RequireToken("u", "p");
  ASSERT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(Manifest(App({User("u", "other")})), FailsWith(Code::kUnauthenticated));
}

TEST_F(RegistryClientTest, AnybodyMayHaveATokenOfAPublicRepository) {
  registry_.RequireToken("", "");
  EXPECT_THAT(Manifest(App()), IsOk());
}

TEST_F(RegistryClientTest, AnIdentityTokenIsExchanged) {
  registry_.AcceptRefreshToken("refresh");
  Credential credential{.username = "00000000-0000-0000-0000-000000000000",
                        .identity_token = "refresh",
                        .source = "ns/s"};
  EXPECT_THAT(Manifest(App({credential})), IsOk());
  EXPECT_EQ(registry_.Count("POST /token"), 1);
}

TEST_F(RegistryClientTest, WhatMayPassIsTriedAgain) {
  for (Trouble trouble : {Trouble::kBroken, Trouble::kReset}) {
    registry_.Misbehave("manifests/", trouble, 2);
    EXPECT_THAT(Manifest(App()), IsOk());
  }
  registry_.Misbehave("manifests/", Trouble::kBroken);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable, HasSubstr("503")));
}

TEST_F(RegistryClientTest, RetryAfterIsHeededIfThereIsTime) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.Misbehave("manifests/", Trouble::kThrottled, 1);
  EXPECT_THAT(Manifest(App()), IsOk());
  registry_.Misbehave("manifests/", Trouble::kThrottled);
  auto got = Manifest(App(), "1", 500ms);
  ASSERT_THAT(got, FailsWith(Code::kThrottled));
  EXPECT_EQ(got.error().retry_after(), 1s);
}

TEST_F(RegistryClientTest, HostileBodiesAreRefused) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.Misbehave("manifests/", Trouble::kEndlessBody, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid));
  registry_.Misbehave("manifests/", Trouble::kShortBody, 3);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kUnavailable));
  registry_.Misbehave("manifests/", Trouble::kLyingDigest, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid, HasSubstr("manifest 1")));
  registry_.Misbehave("manifests/", Trouble::kOtherBody, 1);
  EXPECT_THAT(Manifest(App()), FailsWith(Code::kInvalid));
}

TEST_F(RegistryClientTest, TheRegistrysOwnErrorCodeIsShown) {
  EXPECT_THAT(Manifest(App(), "sha256:" + std::string(64, '0')),
              FailsWith(Code::kNotFound, HasSubstr("MANIFEST_UNKNOWN")));
}

TEST_F(RegistryClientTest, WhatIsAskedForByDigestHasThatDigest) {
  std::string manifest = registry_.PutImage("app", "2", {"linux", "s390x"});
  std::string blob = registry_.PutBlob("content");
  EXPECT_THAT(Manifest(App(), manifest), IsOk());
  EXPECT_THAT(Blob(blob), IsOk());
  registry_.Misbehave("/v2/", Trouble::kOtherBody);
  EXPECT_THAT(Manifest(App(), manifest), FailsWith(Code::kInvalid));
  EXPECT_THAT(Blob(blob), FailsWith(Code::kInvalid));
}

// A part of a signed schema 1 manifest says its digest: whoever serves the rest could say anything
// under that digest.
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

TEST_F(RegistryClientTest, ASilentRegistryCostsNoMoreThanTheDeadline) {
  ASSERT_THAT(Manifest(App()), IsOk());
  registry_.Misbehave("manifests/", Trouble::kSilent);
  EXPECT_THAT(Manifest(App(), "1", 50ms), FailsWith(Code::kDeadlineExceeded));
}

TEST_F(RegistryClientTest, CredentialsDoNotFollowARedirectToAnotherHost) {
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

TEST_F(RegistryClientTest, RedirectsEndAndStayAwayFromPrivateAddresses) {
  std::string digest = registry_.PutBlob("content");
  registry_.Redirect("blobs/", "/v2/app/blobs/" + digest);
  EXPECT_THAT(Blob(digest), FailsWith(Code::kInvalid, HasSubstr("redirects")));
  registry_.Behave();
  registry_.Redirect("blobs/", "http://169.254.169.254/latest/meta-data/");
  EXPECT_THAT(Blob(digest), FailsWith(Code::kPermissionDenied, HasSubstr("169.254.169.254")));
  registry_.Behave();
  registry_.Redirect("blobs/", "file:///etc/passwd");
  EXPECT_THAT(Blob(digest), FailsWith(Code::kInvalid));
}

TEST_F(RegistryClientTest, ATokenServerOfARegistryWithAnAddressMayHaveAnotherPort) {
  FakeRegistry tokens(io_.get_executor(), {});
  tokens.RequireToken("u", "p");
  registry_.RequireToken("u", "p");
  registry_.UseTokenServer("http://localhost" + tokens.host().substr(tokens.host().find(':')) +
                           "/token");
  EXPECT_THAT(Manifest(App({User("u", "p")})), IsOk());
  EXPECT_EQ(tokens.Count("/token"), 1);
}

// Documentation's own networks: nothing answers there.
TEST_F(RegistryClientTest, ATokenServerOnAnotherPrivateAddressHasToBeNamed) {
  options_.fetch.tries = 1;
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

// Where the attacker owns the names, their class is his word.
TEST_F(RegistryClientTest, ARegistrysOwnNamesDoNotSayWhereItMaySendUs) {
  kube::FakeNameServer names(io_.get_executor());
  names.Add("registry.test", {"127.0.0.1"});
  names.Add("internal.test", {"127.0.0.1"});
  names.Add("metadata.test", {"169.254.169.254"});
  options_.transport.names = names.servers();
  options_.fetch.tries = 1;
  FakeRegistry internal(io_.get_executor(), {});
  std::string port = internal.host().substr(internal.host().find(':'));
  Repository repository = App();
  repository.source.registry =
      "registry.test" + registry_.host().substr(registry_.host().find(':'));
  registry_.Redirect("manifests/", "http://internal.test" + port + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(repository), FailsWith(Code::kPermissionDenied, HasSubstr("internal.test")));
  registry_.Behave();
  // Its own, as long as the name stands for the same machine.
  registry_.RequireToken("", "");
  registry_.UseTokenServer("http://" + repository.source.registry + "/token");
  EXPECT_THAT(Manifest(repository), IsOk());
  registry_.Behave();
  repository.source.registry = "metadata.test";
  EXPECT_THAT(Manifest(repository, "1", 1s),
              FailsWith(Code::kPermissionDenied, HasSubstr("metadata.test")));
}

TEST_F(RegistryClientTest, MetadataServicesAreNoRegistries) {
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

  // Asks without waiting; the answer comes to the returned place.
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

TEST_F(LargeBodiesTest, NoMoreThanTheirNumberAreInMemoryAtATime) {
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
    // Who has read one lets it go, and another comes.
    auto read = std::find_if(asked.begin(), asked.end(),
                             [](const auto& place) { return place->has_value(); });
    ASSERT_THAT(***read, IsOk());
    asked.erase(read);
  }
  asked.clear();
  EXPECT_EQ(slots_->busy(), 0u);
}

TEST_F(LargeBodiesTest, SmallOnesPassWhileAllLargeOnesStall) {
  registry_.Misbehave("manifests/large", Trouble::kStalledBody, 3);
  std::vector<std::shared_ptr<Place>> stalled;
  for (int i = 0; i < 3; ++i) stalled.push_back(Start("large", 1s));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 2 && slots_->waiting() == 1; }));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Manifest(App()), IsOk());
  EXPECT_EQ(slots_->waiting(), 1u);
  // All have their deadline, the one in line as well, and give back what they had.
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return *stalled[0] && *stalled[1] && *stalled[2]; }));
  for (const auto& place : stalled) EXPECT_THAT(**place, FailsWith(Code::kDeadlineExceeded));
  EXPECT_EQ(slots_->busy(), 0u);
  EXPECT_THAT(Manifest(App(), "large"), IsOk());
}

TEST_F(LargeBodiesTest, ALargeAnswerThatIsNoneIsLetGoAtOnce) {
  std::string error =
      R"({"errors":[{"code":"DENIED","message":")" + std::string(400u << 10, 'x') + R"("}]})";
  int tries = 0;
  kube::ScriptedServer server(
      io_.get_executor(), {}, [&](kube::ScriptedPeer& peer) -> kube::asio::awaitable<void> {
        while (true) {
          std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
          if (!request) co_return;
          ++tries;
          co_await peer.Reply(503, error);
        }
      });
  options_.fetch.backoff = 1s;
  options_.fetch.tries = 2;
  client_.reset();
  Repository repository{{server.url().Authority(), "app", true, "test"}, {}};
  std::shared_ptr<Place> place = Start("1", 10s, repository);
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 1; }));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return slots_->busy() == 0; }));
  EXPECT_EQ(tries, 1) << "kept until the next try";
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
  options_.fetch.tries = 1;
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kUnavailable));
  EXPECT_THAT(tls_->log(), IsEmpty());
  EXPECT_THAT(Manifest(Secure(true)), IsOk());
}

TEST_F(TlsTest, ABundleMakesTheAuthorityKnown) {
  options_.transport.ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, ABundleMayBeForOneRegistry) {
  options_.transport.host_tls[Secure().source.registry].ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, CertificatesThatCannotBeUsedAreAnErrorOfTheirRegistryAlone) {
  options_.transport.ca_pem = ca_.certificate_pem;
  options_.transport.host_tls[Secure().source.registry].problem =
      "client.cert has no client.key beside it";
  EXPECT_THAT(Manifest(Secure()),
              FailsWith(Code::kInvalid, HasSubstr("client.cert has no client.key")));
  EXPECT_THAT(Manifest(App()), IsOk());
}

TEST_F(TlsTest, AClientCertificateIsShownToItsRegistry) {
  kube::KeyPair client =
      *kube::NewServingCertificate(ca_, {"client"}, std::chrono::hours(1), kube::RealClock());
  tls_ = std::make_unique<FakeRegistry>(
      io_.get_executor(),
      FakeRegistryOptions{.certificate = serving_, .client_ca_pem = ca_.certificate_pem});
  tls_->PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  options_.fetch.tries = 1;
  HostTls& tls = options_.transport.host_tls[Secure().source.registry];
  tls.ca_pem = ca_.certificate_pem;
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kUnavailable));
  client_.reset();
  tls.cert_pem = client.certificate_pem;
  tls.key_pem = client.private_key_pem;
  EXPECT_THAT(Manifest(Secure()), IsOk());
}

TEST_F(TlsTest, HttpsIsNotLeftForARedirect) {
  options_.transport.ca_pem = ca_.certificate_pem;
  tls_->Redirect("manifests/", registry_.url() + "/v2/app/manifests/1");
  EXPECT_THAT(Manifest(Secure()), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(TlsTest, PlainHttpIsForInsecureRegistriesOnly) {
  options_.fetch.tries = 1;
  Repository plain = App();
  plain.source.insecure = false;
  EXPECT_FALSE(Manifest(plain));
  EXPECT_EQ(registry_.Count("manifests"), 0);
  // Not even where it is known to speak it.
  ASSERT_THAT(Manifest(App()), IsOk());
  EXPECT_FALSE(Manifest(plain));
  EXPECT_EQ(registry_.Count("manifests"), 1);
}

}  // namespace
}  // namespace inspection

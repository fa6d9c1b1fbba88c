// SPDX-License-Identifier: Apache-2.0
#include "inspection/inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "inspection/base/manifest.h"
#include "inspection/config/containerd_hosts.h"
#include "inspection/testing/fake_account_tokens.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/offset_clock.h"
#include "inspection/testing/on_linux.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using placement::ArchitectureSet;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Fault = FakeRegistry::Fault;

class InspectorTest : public RegistryFixture {
 protected:
  InspectorTest() {
    InspectorOptions options;
    options.timeout = 10s;
    options.account_tokens = &tokens_;
    options.trace = [this](const std::string& line) { trace_.push_back(line); };
    inspector_ = NewImageInspector(io_.get_executor(), clock_, options);
    inspector_->Observe([this](Learned image) { learned_.push_back(std::move(image)); },
                        [this] { ++configured_; });
    config_.registries_conf = InsecureRegistriesConf(registry_.host());
    Result<void> set = inspector_->SetConfig(config_);
    EXPECT_TRUE(set) << set.error();
    // The client caches the registry's scheme, so that the tests count requests only.
    registry_.PutIndex("known", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
    EXPECT_THAT(Inspect("known:1"), IsOk());
    registry_.ClearLog();
    learned_.clear();
  }

  ImageRequest Request(const std::string& image) const {
    return {.image = registry_.host() + "/" + image};
  }
  Result<ArchitectureSet> Inspect(const std::string& image) { return Inspect(Request(image)); }
  Result<ArchitectureSet> Inspect(ImageRequest request) {
    return OnLinux(kube::Run(io_, inspector_->Inspect(std::move(request))));
  }
  SharedKeyring KeyringFor(const std::string& user, const std::string& password) {
    return NewKeyring(registry_.host(), user, password);
  }

  OffsetClock clock_;
  FakeAccountTokens tokens_;
  InspectorConfig config_;
  std::vector<std::string> trace_;
  std::vector<Learned> learned_;
  int configured_ = 0;
  std::unique_ptr<ImageInspector> inspector_;
};

TEST_F(InspectorTest, AnImageOfSeveralArchitecturesCostsOneRequest) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}});
  Result<ArchitectureSet> got = Inspect("app:1");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, ElementsAre("amd64", "arm64"));
  EXPECT_THAT(registry_.log(), ElementsAre("GET /v2/app/manifests/1"));
}

TEST_F(InspectorTest, ASingleImageCostsTwo) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  Result<ArchitectureSet> got = Inspect("app:1");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, ElementsAre("s390x"));
  EXPECT_EQ(registry_.log().size(), 2u);
}

TEST_F(InspectorTest, LargePartsOfOneImageDoNotWaitForEachOther) {
  InspectorOptions options;
  options.timeout = 5s;
  options.large_bodies = 1;
  inspector_ = NewImageInspector(io_.get_executor(), clock_, options);
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  std::string padding = R"(,"padding":")" + std::string(400u << 10, 'x') + R"("})";
  auto part = [&](std::string_view type, const std::string& digest) {
    return R"({"mediaType":")" + std::string(type) + R"(","size":1,"digest":")" + digest + R"(")";
  };
  std::string config = registry_.PutBlob(R"({"architecture":"arm64","os":"linux")" + padding);
  std::string image = registry_.PutManifest(
      "app", "", R"({"schemaVersion":2,"config":)" + part("config", config) + "}" + padding,
      kOciManifest);
  std::string index =
      registry_.PutManifest("app", "",
                            R"({"schemaVersion":2,"manifests":[)" + part(kOciManifest, image) +
                                R"(,"platform":{"os":"linux","architecture":"arm64"}}])" + padding,
                            kOciIndex);
  registry_.PutManifest(
      "app", "1", R"({"schemaVersion":2,"manifests":[)" + part(kOciIndex, index) + "}]" + padding,
      kOciIndex);
  Result<ArchitectureSet> got = Inspect("app:1");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, ElementsAre("arm64"));
  EXPECT_EQ(registry_.log().size(), 4u);
}

TEST_F(InspectorTest, ACachedTagCostsNoRequest) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  registry_.ClearLog();
  ASSERT_THAT(Inspect("app:1"), IsOk());
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(InspectorTest, AlwaysPullCostsOneHeadIfTheTagHasNotMoved) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ImageRequest always = Request("app:1");
  always.always_pull = true;
  ASSERT_THAT(Inspect(always), IsOk());
  registry_.ClearLog();
  ASSERT_THAT(Inspect(always), IsOk());
  EXPECT_THAT(registry_.log(), ElementsAre("HEAD /v2/app/manifests/1"));
}

TEST_F(InspectorTest, EachAnswerIsLearned) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ImageRequest always = Request("app:1");
  always.always_pull = true;
  always.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "pod", "uid", "web"});
  ASSERT_THAT(Inspect(always), IsOk());
  ASSERT_EQ(learned_.size(), 1U);
  const ImageAnswer first = learned_[0].answer;
  EXPECT_EQ(first.image, registry_.host() + "/app:1");
  EXPECT_EQ(first.digest.size(), std::string("sha256:").size() + 64);
  EXPECT_THAT(first.platforms->platforms, ElementsAre(placement::Platform{"linux", "s390x"}));
  EXPECT_EQ(learned_[0].holders, Holders::kEveryPod);
  EXPECT_TRUE(learned_[0].anonymous);
  const kube::TimePoint read = learned_[0].read;
  EXPECT_EQ(learned_[0].pod, always.pod);
  EXPECT_TRUE(learned_[0].always_pull);

  // From the cache, with the time of the registry's answer.
  clock_.Advance(10s);
  ASSERT_THAT(Inspect("app:1"), IsOk());
  ASSERT_EQ(learned_.size(), 2U);
  EXPECT_EQ(learned_[1].read, read);
  EXPECT_FALSE(learned_[1].always_pull);
  ASSERT_TRUE(inspector_->Cached(Request("app:1")));
  ASSERT_EQ(learned_.size(), 3U);
  EXPECT_EQ(learned_[2].answer.digest, first.digest);
  EXPECT_EQ(learned_[2].read, read);

  // The registry was asked again.
  ASSERT_THAT(Inspect(always), IsOk());
  ASSERT_EQ(learned_.size(), 4U);
  EXPECT_EQ(learned_[3].answer.digest, first.digest);
  EXPECT_GE(learned_[3].read, read + 10s);

  ASSERT_THAT(Inspect("other/app@" + first.digest), IsOk());
  EXPECT_EQ(learned_.size(), 4U) << "the image was never read from there";
}

TEST_F(InspectorTest, WhatADigestNamesIsLearnedAnewForTheCredentialsThatRead) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  const std::string digest = learned_[0].answer.digest;
  inspector_ = NewImageInspector(io_.get_executor(), clock_, {});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  inspector_->Observe([this](Learned image) { learned_.push_back(std::move(image)); }, [] {});
  learned_.clear();
  ImageRequest request = Request("app@" + digest);
  request.keyring = KeyringFor("user", "password");
  ASSERT_THAT(Inspect(request), IsOk());
  clock_.Advance(24h);
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_TRUE(inspector_->Cached(request));
  ASSERT_EQ(learned_.size(), 3U);
  for (const Learned& learned : learned_) EXPECT_EQ(learned.holders, Holders::kPullSecret);
  EXPECT_GE(learned_[1].read, learned_[0].read + 24h);
  EXPECT_GE(learned_[2].read, learned_[1].read);
  // Others get the platforms, as they know the digest, but that says nothing about their rights.
  request.keyring = KeyringFor("other", "password");
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_THAT(Inspect("app@" + digest), IsOk());
  EXPECT_EQ(learned_.size(), 3U);
}

TEST_F(InspectorTest, NothingIsLearnedOfVolumesAndFailures) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ImageRequest volume = Request("app:1");
  volume.use = Use::kVolume;
  ASSERT_THAT(Inspect(volume), IsOk());
  EXPECT_FALSE(Inspect("absent:1"));
  EXPECT_THAT(learned_, IsEmpty());
}

TEST_F(InspectorTest, CredentialsSayWhoMayHaveWhatIsLearned) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ImageRequest request = Request("app:1");
  request.keyring = KeyringFor("user", "password");
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_EQ(learned_.size(), 1U);
  EXPECT_EQ(learned_[0].holders, Holders::kPullSecret);

  Keyring of_all = *KeyringFor("global", "password");
  of_all.SetHolders(Holders::kEveryPod);
  request.keyring = std::make_shared<const Keyring>(of_all);
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_EQ(learned_.size(), 2U);
  EXPECT_EQ(learned_[1].holders, Holders::kEveryPod);
  EXPECT_FALSE(learned_[1].anonymous);

  // The pod's own first, then those of all pods.
  Keyring both = *KeyringFor("user", "password");
  ASSERT_THAT(both.Append(of_all), IsOk());
  request.keyring = std::make_shared<const Keyring>(std::move(both));
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_EQ(learned_.size(), 3U);
  EXPECT_EQ(learned_[2].holders, Holders::kPullSecret);

  // Credentials for another registry are not used.
  request.keyring = NewKeyring("other.example", "user", "password");
  ASSERT_THAT(Inspect(request), IsOk());
  ASSERT_EQ(learned_.size(), 4U);
  EXPECT_EQ(learned_[3].holders, Holders::kEveryPod);
  EXPECT_TRUE(learned_[3].anonymous);
}

TEST_F(InspectorTest, WhatWasLearnedIsRestored) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  ASSERT_EQ(learned_.size(), 1U);
  EXPECT_EQ(configured_, 1);
  const ImageAnswer image = learned_[0].answer;
  const std::string configuration = inspector_->Configuration();

  inspector_ = NewImageInspector(io_.get_executor(), clock_, {});
  EXPECT_NE(inspector_->Configuration(), configuration);
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_EQ(inspector_->Configuration(), configuration);
  registry_.ClearLog();
  inspector_->Restore(image, kTagLifetime - 1s);
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("s390x"));
  EXPECT_THAT(registry_.log(), IsEmpty());

  // An older one costs a HEAD.
  inspector_->Restore(image, kTagLifetime);
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("s390x"));
  EXPECT_THAT(registry_.log(), ElementsAre("HEAD /v2/app/manifests/1"));

  // And none while the registry fails, but its age is told.
  inspector_->Restore(image, 2h);
  registry_.InjectFault("app/", Fault::kBroken);
  Result<Inspected> stale = kube::Run(io_, inspector_->Inspect(Request("app:1")));
  ASSERT_THAT(stale, IsOk());
  EXPECT_THAT(stale->stale, HasSubstr("was read 120 minutes ago"));
}

TEST_F(InspectorTest, AMovedTagIsDetected) {
  registry_.PutImage("app", "1", {"linux", "amd64"});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  registry_.PutImage("app", "1", {"linux", "arm64"});
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("amd64"));
  ImageRequest always = Request("app:1");
  always.always_pull = true;
  EXPECT_THAT(*Inspect(always), ElementsAre("arm64"));
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("arm64"));

  registry_.PutImage("app", "1", {"linux", "ppc64le"});
  clock_.Advance(1h);
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("ppc64le"));
}

TEST_F(InspectorTest, ADigestIsReadOnceForAllTags) {
  std::string digest = registry_.PutImage("app", "1", {"linux", "s390x"});
  ASSERT_THAT(Inspect("app@" + digest), IsOk());
  registry_.ClearLog();
  EXPECT_THAT(*Inspect("app:other@" + digest), ElementsAre("s390x"));
  clock_.Advance(24h);
  EXPECT_THAT(*Inspect("app@" + digest), ElementsAre("s390x"));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

// The queue of the cluster controller joins requests by this key.
TEST_F(InspectorTest, OnlyRequestsWithTheSameAnswerHaveTheSameSharingKey) {
  ImageRequest plain = Request("app:1");
  EXPECT_EQ(inspector_->SharingKey(plain), inspector_->SharingKey(Request("app:1")));
  ImageRequest irrelevant = plain;
  irrelevant.keyring = NewKeyring("other.io", "u", "p");
  EXPECT_EQ(inspector_->SharingKey(irrelevant), inspector_->SharingKey(plain));

  std::set<std::string> keys = {inspector_->SharingKey(plain)};
  ImageRequest next = plain;
  next.use = Use::kVolume;
  EXPECT_TRUE(keys.insert(inspector_->SharingKey(next)).second);
  next = plain;
  next.always_pull = true;
  EXPECT_TRUE(keys.insert(inspector_->SharingKey(next)).second);
  for (const char* suffix : {" always", " volume", " cached", " container"}) {
    next = plain;
    next.image += suffix;
    EXPECT_TRUE(keys.insert(inspector_->SharingKey(next)).second) << suffix;
  }
  next = plain;
  for (const char* user : {"u", "v"}) {
    next.keyring = KeyringFor(user, "p");
    EXPECT_TRUE(keys.insert(inspector_->SharingKey(next)).second) << user;
  }
  Keyring keyring;
  keyring.AddProblem("pull secret ns/huge is larger than 64 KiB");
  next.keyring = std::make_shared<const Keyring>(std::move(keyring));
  EXPECT_TRUE(keys.insert(inspector_->SharingKey(next)).second);
}

// Under another configuration, a credential may be for another place.
TEST_F(InspectorTest, ANewConfigurationChangesTheSharingKey) {
  std::string before = inspector_->SharingKey(Request("app:1"));
  config_.registries_conf += "mirror = [{location = \"mirror.io\"}]\n";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_NE(inspector_->SharingKey(Request("app:1")), before);
}

// Whether the credentials of a plugin fit in depends on the whole keyring.
TEST_F(InspectorTest, WithACredentialProviderTheWholeKeyringIsInTheSharingKey) {
  ImageRequest request = Request("app:1");
  request.keyring = NewKeyring("other.io", "u", "p");
  ImageRequest other = Request("app:1");
  other.keyring = NewKeyring("other.io", "v", "p");
  EXPECT_EQ(inspector_->SharingKey(request), inspector_->SharingKey(other));
  config_.credential_providers.providers.push_back(
      {.name = "p", .match_images = {registry_.host()}});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_NE(inspector_->SharingKey(request), inspector_->SharingKey(other));
}

// What a plugin answers to the token of one service account is not for others.
TEST_F(InspectorTest, WithATokenProviderTheServiceAccountIsInTheSharingKey) {
  auto key = [this](const std::string& image, const std::string& account, const std::string& uid) {
    ImageRequest request = Request(image);
    request.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "pod", uid, account});
    return inspector_->SharingKey(request);
  };
  EXPECT_EQ(key("app:1", "web", "1"), key("app:1", "db", "2"));
  config_.credential_providers.providers.push_back(
      {.name = "p", .match_images = {registry_.host()}, .token = TokenAttributes{.audience = "a"}});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_EQ(key("app:1", "web", "1"), key("app:1", "web", "2"));
  EXPECT_NE(key("app:1", "web", "1"), key("app:1", "db", "1"));
  // Neither a name nor an image can pretend to be another one.
  EXPECT_NE(key("app:1", "web", "1"), key("app:2", "web", "1"));
}

// Neither what is known nor what is refused costs a token.
TEST_F(InspectorTest, NoProviderIsRunForAKnownDigestOrARefusedImage) {
  std::string digest = registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  tokens_.accounts["ns/web"] = {.uid = "1", .annotations = {}};
  config_.credential_providers.providers.push_back(
      {.name = "p", .match_images = {registry_.host()}, .token = TokenAttributes{.audience = "a"}});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  ImageRequest request = Request("app@" + digest);
  request.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "web-0", "uid-1", "web"});
  EXPECT_FALSE(inspector_->Cached(request));
  ASSERT_THAT(Inspect(request), IsOk());
  EXPECT_EQ(tokens_.issued, 1);
  clock_.Advance(1min);
  EXPECT_THAT(Inspect(request), IsOk());
  EXPECT_TRUE(inspector_->Cached(request));
  EXPECT_EQ(tokens_.issued, 1);

  config_.policy_json = R"({"default": [{"type": "reject"}]})";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(Inspect(request), FailsWith(Code::kPermissionDenied));
  EXPECT_FALSE(inspector_->Cached(request));
  EXPECT_EQ(tokens_.issued, 1);
}

TEST_F(InspectorTest, CredentialsThatTakeTooLongAreNotWaitedFor) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  config_.credential_providers.providers.push_back(
      {.name = "p", .match_images = {registry_.host()}, .token = TokenAttributes{.audience = "a"}});
  InspectorOptions options;
  options.credentials_timeout = 5s;
  options.account_tokens = &tokens_;
  inspector_ = NewImageInspector(io_.get_executor(), clock_, options);
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  ImageRequest request = Request("app:1");
  request.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "web-0", "uid-1", "web"});
  EXPECT_THAT(Inspect(request), IsOk());
  ASSERT_FALSE(tokens_.deadlines.empty());
  EXPECT_LE(tokens_.deadlines.back(), clock_.Now() + 5s);
}

// The pods of an account share an inspection, which one of them was named for.
TEST_F(InspectorTest, ARefusalForAPodThatIsGoneIsNoAnswerForOthers) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  registry_.RequireToken("u", "p");
  tokens_.accounts["ns/web"] = {.uid = "1", .annotations = {}};
  tokens_.failure = kube::Error::NotFound("pods \"web-0\" not found");
  config_.credential_providers.providers.push_back(
      {.name = "p", .match_images = {registry_.host()}, .token = TokenAttributes{.audience = "a"}});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  ImageRequest request = Request("app:1");
  request.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "web-0", "uid-1", "web"});
  Result<Inspected> gone = kube::Run(io_, inspector_->Inspect(request));
  EXPECT_THAT(gone, FailsWith(Code::kUnavailable, HasSubstr("web-0")));
  EXPECT_EQ(gone.error().reason(), kPodGone);
  ImageRequest other = Request("app:1");
  EXPECT_THAT(Inspect(other), FailsWith(Code::kUnauthenticated, Not(HasSubstr("web-0"))));
}

// The registry refuses the image, but that is the provider's failure.
TEST_F(InspectorTest, WhileAProviderFailsWhatWasReadBeforeIsUsed) {
  const std::string folder = ::testing::TempDir() + "/providers";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/p") << "#!/bin/sh\necho '"
                               << R"({"kind":"CredentialProviderResponse","apiVersion":")"
                               << "credentialprovider.kubelet.k8s.io/v1"
                               << R"(","cacheKeyType":"Image","auth":{")" << registry_.host()
                               << R"(":{"username":"u","password":"p"}}})"
                               << "'\n";
  std::filesystem::permissions(folder + "/p", std::filesystem::perms(0755));
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  registry_.RequireToken("u", "p");
  for (const char* account : {"web", "db"})
    tokens_.accounts[std::string("ns/") + account] = {.uid = account, .annotations = {}};
  config_.credential_providers.bin_dir = folder;
  config_.credential_providers.providers.push_back(
      {.name = "p",
       .match_images = {registry_.host()},
       .api_version = "credentialprovider.kubelet.k8s.io/v1",
       .token = TokenAttributes{.audience = "a"}});
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  auto read = [&](const std::string& image, const std::string& account) {
    ImageRequest request = Request(image);
    request.pod = std::make_shared<const PodIdentity>(PodIdentity{"ns", "pod", "uid", account});
    return kube::Run(io_, inspector_->Inspect(request));
  };
  ASSERT_THAT(read("app:1", "web"), IsOk());
  tokens_.failure = kube::Error::Unavailable("the API server is away");
  clock_.Advance(5min);
  Result<Inspected> got = read("app:1", "web");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(got->stale, AllOf(HasSubstr("5 minutes ago"), HasSubstr("the API server is away")));
  // What was read for another account is not used, and it is no refusal either.
  EXPECT_THAT(read("app:1", "db"),
              FailsWith(Code::kUnavailable, AllOf(HasSubstr("credential provider: p: "),
                                                  HasSubstr("registry " + registry_.host()))));
  EXPECT_THAT(read("absent:1", "web"), FailsWith(Code::kUnavailable));
  // A denial is an answer.
  tokens_.failure = kube::Error::PermissionDenied("403");
  clock_.Advance(1min);
  EXPECT_THAT(read("app:1", "web"), FailsWith(Code::kUnauthenticated, HasSubstr("token: 403")));
  // Nor is there a failure, at once, for the next pod of an account after one that is gone.
  tokens_.failure = kube::Error::NotFound("pods \"pod\" not found");
  clock_.Advance(1min);
  EXPECT_EQ(read("app:1", "web").error().reason(), kPodGone);
  tokens_.failure.reset();
  got = read("app:1", "web");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(got->stale, IsEmpty());
}

TEST_F(InspectorTest, NoNamespaceProfitsFromAnothersCredentials) {
  registry_.PutIndex("secret", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  registry_.RequireToken("u", "p");
  ImageRequest allowed = Request("secret:1");
  allowed.keyring = KeyringFor("u", "p");
  ASSERT_THAT(Inspect(allowed), IsOk());
  EXPECT_THAT(Inspect("secret:1"), FailsWith(Code::kUnauthenticated));
  ImageRequest other = Request("secret:1");
  other.keyring = KeyringFor("v", "hunter2");
  EXPECT_THAT(Inspect(other),
              FailsWith(Code::kUnauthenticated,
                        AllOf(HasSubstr("inspect " + registry_.host() + "/secret:1: "),
                              HasSubstr("1 credential tried"), Not(HasSubstr("hunter2")))));
  for (const std::string& line : trace_) EXPECT_THAT(line, Not(HasSubstr("hunter2")));
}

TEST_F(InspectorTest, AFailureIsCachedForAMoment) {
  EXPECT_THAT(Inspect("absent:1"), FailsWith(Code::kNotFound));
  registry_.ClearLog();
  EXPECT_THAT(Inspect("absent:1"), FailsWith(Code::kNotFound));
  EXPECT_THAT(registry_.log(), IsEmpty());
  registry_.PutImage("absent", "1", {"linux", "amd64"});
  clock_.Advance(5s);
  EXPECT_THAT(Inspect("absent:1"), IsOk());
}

TEST_F(InspectorTest, NestedIndexesAreRead) {
  std::string inner = registry_.PutIndex("app", "", {{"linux", "arm64"}, {"linux", "s390x"}});
  registry_.PutManifest("app", "1",
                        R"({"schemaVersion":2,"manifests":[{"mediaType":")" +
                            std::string(kOciIndex) + R"(","digest":")" + inner + R"(","size":1}]})",
                        kOciIndex);
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("arm64", "s390x"));
}

// An index of images whose entries name no platform.
std::string IndexOf(const std::vector<std::string>& digests) {
  std::string entries;
  for (const std::string& digest : digests) {
    entries += (entries.empty() ? "" : ",") + (R"({"mediaType":")" + std::string(kOciManifest)) +
               R"(","size":1,"digest":")" + digest + "\"}";
  }
  return R"({"schemaVersion":2,"manifests":[)" + entries + "]}";
}

TEST_F(InspectorTest, TheConfigTellsThePlatformOfAnEntryWithoutOne) {
  std::string arm = registry_.PutImage("app", "", {"linux", "arm64"});
  std::string z = registry_.PutImage("app", "", {"linux", "s390x"});
  std::string windows = registry_.PutImage("app", "", {"windows", "amd64"});
  std::string none = registry_.PutImage("app", "", {"linux", ""});
  std::string chart = registry_.PutManifest(
      "app", "",
      R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json",)"
      R"("digest":")" +
          arm + R"("},"layers":[]})",
      kOciManifest);
  registry_.PutManifest("app", "1", IndexOf({arm, none, windows, chart, z}), kOciIndex);
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("arm64", "s390x"));
  // The index, five manifests, and the configs of four images.
  EXPECT_EQ(registry_.log().size(), 10u);
  // The second inspection knows all of it.
  registry_.ClearLog();
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("arm64", "s390x"));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

// An architecture that may be there must not be lost.
TEST_F(InspectorTest, AnEntryWithoutPlatformThatCannotBeReadIsAnError) {
  std::string arm = registry_.PutImage("app", "", {"linux", "arm64"});
  std::string z = registry_.PutImage("app", "", {"linux", "s390x"});
  registry_.PutManifest("app", "1", IndexOf({arm, z}), kOciIndex);
  registry_.InjectFault("app/manifests/" + z, Fault::kBroken);
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnavailable));
  registry_.ClearFaults();
  clock_.Advance(2s);
  registry_.PutManifest("app", "2", IndexOf({arm, "sha256:" + std::string(64, '0')}), kOciIndex);
  EXPECT_THAT(Inspect("app:2"), FailsWith(Code::kNotFound));
}

TEST_F(InspectorTest, AnImageOfManyDocumentsIsRefused) {
  std::string arm = registry_.PutImage("app", "", {"linux", "arm64"});
  std::vector<std::string> same(16, arm);
  std::string index = registry_.PutManifest("app", "", IndexOf(same), kOciIndex);
  std::string entries;
  for (int i = 0; i < 16; ++i) {
    entries += (i == 0 ? "" : ",") + (R"({"mediaType":")" + std::string(kOciIndex)) +
               R"(","size":1,"digest":")" + index + "\"}";
  }
  registry_.PutManifest("app", "1", R"({"schemaVersion":2,"manifests":[)" + entries + "]}",
                        kOciIndex);
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kInvalid, HasSubstr("more than 48 manifests")));
  EXPECT_LT(registry_.log().size(), 100u);
}

TEST_F(InspectorTest, AVolumeOfASingleManifestIsForEveryPlatform) {
  registry_.PutImage("app", "1", {"linux", "s390x"});
  registry_.PutManifest(
      "model", "1",
      R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.empty.v1+json",)"
      R"("digest":"sha256:)" +
          std::string(64, '0') + R"("},"layers":[]})",
      kOciManifest);
  registry_.PutIndex("split", "1", {{"linux", "arm64"}, {"linux", "s390x"}});
  auto volume = [&](const std::string& image) {
    ImageRequest request = Request(image);
    request.use = Use::kVolume;
    return Inspect(request);
  };
  EXPECT_EQ(*volume("app:1"), placement::AllArchitectures());
  EXPECT_EQ(*volume("model:1"), placement::AllArchitectures());
  EXPECT_THAT(registry_.log(), ElementsAre("GET /v2/app/manifests/1", "GET /v2/model/manifests/1"));
  // A runtime selects an entry of an index.
  EXPECT_THAT(*volume("split:1"), ElementsAre("arm64", "s390x"));
  // What is known of the volume says nothing of the container, by tag and by digest.
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("s390x"));
  std::string digest = registry_.PutImage("app", "2", {"linux", "ppc64le"});
  EXPECT_EQ(*volume("app@" + digest), placement::AllArchitectures());
  EXPECT_THAT(*Inspect("app@" + digest), ElementsAre("ppc64le"));
  EXPECT_EQ(*volume("app@" + digest), placement::AllArchitectures());
}

TEST_F(InspectorTest, ABundleBesideAnImageDoesNotHideItsPlatforms) {
  std::string bundle =
      registry_.PutImage("app", "", {"linux", "amd64"},
                         R"({"operators.operatorframework.io.bundle.mediatype.v1":"registry+v1"})");
  std::string arm = registry_.PutImage("app", "", {"linux", "arm64"});
  registry_.PutManifest("app", "both", IndexOf({bundle, arm}), kOciIndex);
  registry_.PutManifest("app", "alone", IndexOf({bundle}), kOciIndex);
  EXPECT_THAT(*Inspect("app:both"), ElementsAre("amd64", "arm64"));
  EXPECT_EQ(*Inspect("app:alone"), placement::AllArchitectures());
}

TEST_F(InspectorTest, AnOperatorBundleIsForAllArchitectures) {
  registry_.PutImage("bundle", "1", {"linux", "amd64"},
                     R"({"operators.operatorframework.io.bundle.mediatype.v1":"registry+v1"})");
  EXPECT_EQ(*Inspect("bundle:1"), placement::AllArchitectures());
}

TEST_F(InspectorTest, AnImageWithoutAnArchitectureIsAnError) {
  registry_.PutImage("app", "1", {"linux", ""});
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kInvalid, HasSubstr("names no architecture")));
  registry_.PutIndex("app", "2", {{"unknown", "unknown"}});
  EXPECT_THAT(Inspect("app:2"), FailsWith(Code::kInvalid));
}

TEST_F(InspectorTest, AMirrorIsUsedBeforeTheRegistry) {
  FakeRegistry mirror(io_.get_executor(), {});
  mirror.PutIndex("cache/app", "1", {{"linux", "s390x"}, {"linux", "arm64"}});
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  registry_.PutIndex("app", "2", {{"linux", "amd64"}, {"linux", "arm64"}});
  config_.registries_conf +=
      "mirror = [{location = \"" + mirror.host() + "/cache\", insecure = true}]\n";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(*Inspect("app:1"), ElementsAre("arm64", "s390x"));
  EXPECT_THAT(*Inspect("app:2"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(trace_, ::testing::Contains(HasSubstr("mirror of " + registry_.host())));
}

TEST_F(InspectorTest, ANewConfigurationDropsTheCache) {
  registry_.PutImage("app", "1", {"linux", "amd64"});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  config_.registries_conf =
      "[[registry]]\nlocation = \"" + registry_.host() + "\"\nblocked = true\n";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kPermissionDenied, HasSubstr("blocked")));
}

TEST_F(InspectorTest, ABadConfigurationChangesNothing) {
  registry_.PutImage("app", "1", {"linux", "amd64"});
  for (InspectorConfig bad :
       {InspectorConfig{.registries_conf = "["}, InspectorConfig{.ca_bundle_pem = "x"},
        InspectorConfig{.policy_json = "["}}) {
    EXPECT_THAT(inspector_->SetConfig(bad), FailsWith(Code::kInvalid));
  }
  EXPECT_THAT(Inspect("app:1"), IsOk());
}

TEST_F(InspectorTest, APolicyRefusesBeforeAnyRequest) {
  config_.policy_json = R"({"default":[{"type":"reject"}]})";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(InspectorTest, ABadNameCostsNoRequest) {
  EXPECT_THAT(Inspect(ImageRequest{.image = "Not A Name"}),
              FailsWith(Code::kInvalid, HasSubstr("Not A Name")));
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(InspectorTest, EveryErrorNamesImageRegistryAndCause) {
  registry_.PutImage("no-arch", "1", {"linux", ""});
  registry_.PutManifest("no-manifest", "1", "[]", kOciManifest);
  registry_.PutImage("broken", "1", {"linux", "amd64"});
  registry_.InjectFault("broken/", Fault::kBroken);
  registry_.PutImage("lying", "1", {"linux", "amd64"});
  registry_.InjectFault("lying/manifests", Fault::kLyingDigest);
  registry_.PutImage("huge", "1", {"linux", "amd64"});
  registry_.InjectFault("huge/manifests", Fault::kEndlessBody);
  struct Row {
    const char* image;
    const char* cause;
  };
  for (const Row& row :
       {Row{"no-arch:1", "names no architecture"}, Row{"no-manifest:1", "manifest"},
        Row{"absent:1", "404 Not Found"}, Row{"broken:1", "503 Service Unavailable"},
        Row{"lying:1", "content is sha256:"}, Row{"huge:1", "larger than"}}) {
    Result<ArchitectureSet> got = Inspect(row.image);
    ASSERT_FALSE(got) << row.image;
    EXPECT_THAT(got.error().message(),
                AllOf(HasSubstr("inspect " + registry_.host() + "/" + row.image),
                      HasSubstr("registry " + registry_.host()), HasSubstr(row.cause)));
  }
}

// The message names secrets of the pod's namespace, so pods of other namespaces must not get it.
TEST_F(InspectorTest, AnUnusedSecretIsNamedWhenARegistryRefuses) {
  registry_.PutIndex("secret", "1", {{"linux", "amd64"}});
  registry_.RequireToken("u", "p");
  Keyring keyring;
  keyring.AddProblem("pull secret ns/huge is larger than 64 KiB");
  ImageRequest request = Request("secret:1");
  request.keyring = std::make_shared<const Keyring>(std::move(keyring));
  EXPECT_THAT(Inspect(request),
              FailsWith(Code::kUnauthenticated, HasSubstr("ns/huge is larger than 64 KiB")));
  EXPECT_THAT(Inspect("secret:1"), FailsWith(Code::kUnauthenticated, Not(HasSubstr("ns/huge"))));
}

// Only for the pods that could read the tag, and only while the registry does not answer.
TEST_F(InspectorTest, WhileTheRegistryFailsWhatItNamedIsUsed) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  ASSERT_THAT(Inspect("app:1"), IsOk());
  ImageRequest always = Request("app:1");
  always.always_pull = true;
  ImageRequest other = Request("app:1");
  other.keyring = KeyringFor("u", "p");
  registry_.InjectFault("app/", Fault::kBroken);

  clock_.Advance(std::chrono::hours(23));
  for (const ImageRequest& request : {Request("app:1"), always}) {
    clock_.Advance(10s);
    auto got = kube::Run(io_, inspector_->Inspect(request));
    ASSERT_THAT(got, IsOk());
    EXPECT_THAT(*OnLinux(got), ElementsAre("amd64", "arm64"));
    EXPECT_THAT(got->stale, AllOf(HasSubstr("app:1 was read 1380 minutes ago"),
                                  HasSubstr("503 Service Unavailable")));
    // For the next pods, without a request.
    registry_.ClearLog();
    auto cached = inspector_->Cached(request);
    ASSERT_TRUE(cached && *cached);
    EXPECT_FALSE((*cached)->stale.empty());
    EXPECT_THAT(registry_.log(), IsEmpty());
  }
  EXPECT_THAT(Inspect(other), FailsWith(Code::kUnavailable));
  clock_.Advance(std::chrono::hours(1));
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnavailable));

  registry_.ClearFaults();
  clock_.Advance(10s);
  auto fresh = kube::Run(io_, inspector_->Inspect(Request("app:1")));
  ASSERT_THAT(fresh, IsOk());
  EXPECT_EQ(fresh->stale, "");
  // An answer, if not the one that is wanted.
  registry_.Remove("app", "1");
  clock_.Advance(61s);
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kNotFound));
}

TEST_F(InspectorTest, CachedImagesNeedNoRegistry) {
  registry_.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  EXPECT_FALSE(inspector_->Cached(Request("app:1")));
  ASSERT_THAT(Inspect("app:1"), IsOk());
  auto known = inspector_->Cached(Request("app:1"));
  ASSERT_TRUE(known);
  EXPECT_THAT(*OnLinux(*known), ElementsAre("amd64", "arm64"));
  ImageRequest always = Request("app:1");
  always.always_pull = true;
  EXPECT_FALSE(inspector_->Cached(always));
  ImageRequest other = Request("app:1");
  other.keyring = KeyringFor("u", "p");
  EXPECT_FALSE(inspector_->Cached(other));
}

TEST_F(InspectorTest, AMirrorOfContainerdIsUsedForItsRegistry) {
  FakeRegistry mirror(io_.get_executor(), {});
  mirror.PutIndex("app", "1", {{"linux", "s390x"}, {"linux", "arm64"}});
  std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/containerd/up.test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/hosts.toml")
      << "[host.\"" << mirror.url() << "\".header]\nx-team = \"blue\"\n";
  config_.containerd_hosts = *ContainerdHosts::Read(folder + "/..");
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(*Inspect(ImageRequest{.image = "up.test/app:1"}), ElementsAre("arm64", "s390x"));
  EXPECT_THAT(trace_, ::testing::Contains(HasSubstr("hosts.toml of up.test")));
}

}  // namespace
}  // namespace inspection

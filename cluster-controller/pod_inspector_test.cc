// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <deque>
#include <set>

#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/nodes/node_images.h"
#include "cluster-controller/nodes/testing/node_with_images.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/config/credentials.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using inspection::FakeInspector;
using inspection::ImageRequest;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::ObjectKey;
using kube::core::Pod;
using placement::ArchitectureSet;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PodInspectorTest : public ::testing::Test {
 protected:
  PodInspectorTest() {
    auto wake = [this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); };
    queue_.OnResult(wake);
    Make({});
  }
  ~PodInspectorTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  void Make(PodInspectorOptions options) {
    inspector_.emplace(queue_, secrets_, nodes_, placement_metrics_, clock_, options);
    inspector_->OnTurn([this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); });
  }
  // True if the pod's architectures are known.
  bool Inspect(const Pod& pod) {
    auto result = kube::Run(io_, inspector_->Inspect(pod));
    EXPECT_THAT(result, IsOk());
    kube::Drain(io_);
    return result && *result;
  }
  // Starts an inspection whose pod stays in memory.
  void Start(Pod pod) {
    started_.push_back(std::move(pod));
    ++running_;
    boost::asio::co_spawn(io_, inspector_->Inspect(started_.back()),
                          [this](std::exception_ptr, const auto& result) {
                            EXPECT_THAT(result, IsOk());
                            --running_;
                          });
    kube::Drain(io_);
  }
  // Several Secrets that are read slowly.
  static Pod Slow(const std::string& ns, const std::string& name) {
    MakePod pod(name);
    pod.Namespace(ns).Image("r.io/slow:" + name);
    for (const char* secret : {"a", "b", "c"}) pod.PullSecret("slow-" + name + secret);
    return pod;
  }
  // The inspected images with the user names for them: "r.io/app:1 as ann".
  std::vector<std::string> Inspected() const {
    std::vector<std::string> inspected;
    for (const ImageRequest& request : images_.requests()) {
      inspected.push_back(request.image + " as ");
      if (request.keyring == nullptr) continue;
      for (const auto& credential : request.keyring->Match("r.io", "app"))
        inspected.back() += credential.username;
    }
    return inspected;
  }
  std::set<inspection::SharedKeyring> Keyrings() const {
    std::set<inspection::SharedKeyring> keyrings;
    for (const ImageRequest& request : images_.requests()) keyrings.insert(request.keyring);
    return keyrings;
  }
  size_t KeyringBytes() const {
    size_t bytes = 0;
    for (const inspection::SharedKeyring& keyring : Keyrings())
      bytes += keyring == nullptr ? 0 : keyring->bytes();
    return bytes;
  }
  static std::string DockerConfig(const std::string& user, size_t padding) {
    std::string pads;
    for (size_t i = 0; i * 10'000 < padding; ++i) {
      pads +=
          ",\"pad" + std::to_string(i) + R"(.io":{"username":")" + std::string(10'000, 'x') + "\"}";
    }
    return R"({"auths":{"r.io":{"username":")" + user + R"(","password":"p"})" + pads + "}}";
  }
  void PutSecret(const std::string& ns, const std::string& name, const std::string& config) {
    kube::core::Secret secret;
    secret.mutable_metadata()->set_namespace_(ns);
    secret.mutable_metadata()->set_name(name);
    secret.set_type(std::string(inspection::kDockerConfigJsonType));
    (*secret.mutable_data())[".dockerconfigjson"] = config;
    api_.Get<kube::core::Secret>({ns, name}) ? api_.Update(secret) : api_.Create(secret);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::SlowClient client_{api_};
  kube::TaskGroup tasks_{io_.get_executor()};
  FakeInspector images_;
  kube::Metrics metrics_;
  PlacementMetrics placement_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, placement_metrics_};
  PullSecrets secrets_{client_, clock_};
  NodeImages nodes_{api_, clock_, tasks_};
  std::optional<PodInspector> inspector_;
  std::vector<std::string> woken_;
  std::deque<Pod> started_;
  int running_ = 0;
};

TEST_F(PodInspectorTest, AnImageIsInspectedForItsPod) {
  Pod pod = MakePod("web").Image("r.io/app:1");
  pod.mutable_metadata()->set_uid("u-1");
  pod.mutable_spec()->set_service_account_name("puller");
  Inspect(pod);
  ASSERT_EQ(images_.requests().size(), 1u);
  ASSERT_NE(images_.requests()[0].pod, nullptr);
  const inspection::PodIdentity& identity = *images_.requests()[0].pod;
  EXPECT_EQ(identity.ns, "ns");
  EXPECT_EQ(identity.pod, "web");
  EXPECT_EQ(identity.uid, "u-1");
  EXPECT_EQ(identity.account, "puller");
}

TEST_F(PodInspectorTest, AllImagesOfAPodShareItsKeyring) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  MakePod pod("web");
  for (int i = 0; i < 8; ++i) pod.Image("r.io/app:" + std::to_string(i));
  EXPECT_FALSE(Inspect(pod.PullSecret("s")));
  EXPECT_EQ(images_.requests().size(), 8u);
  EXPECT_EQ(Keyrings().size(), 1u);
}

// A pod may name 32 secrets, and the API server accepts 1 MiB each: none of them is held.
TEST_F(PodInspectorTest, HugeSecretsAreNotHeld) {
  MakePod pod("web");
  for (int i = 0; i < 32; ++i) {
    std::string name = "s" + std::to_string(i);
    PutSecret("ns", name, DockerConfig("u" + name, 1'000'000));
    pod.PullSecret(name);
  }
  EXPECT_FALSE(Inspect(pod.Image("r.io/app:1")));
  ASSERT_THAT(Inspected(), ElementsAre("r.io/app:1 as "));
  EXPECT_LT(KeyringBytes(), 1000u);
}

TEST_F(PodInspectorTest, SecretsTogetherAreBounded) {
  MakePod pod("web");
  for (int i = 0; i < 32; ++i) {
    std::string name = "s" + std::to_string(i);
    PutSecret("ns", name, DockerConfig("u" + name, 50'000));
    pod.PullSecret(name);
  }
  EXPECT_FALSE(Inspect(pod.Image("r.io/app:1")));
  ASSERT_EQ(Keyrings().size(), 1u);
  EXPECT_LE(KeyringBytes(), inspection::kMaxKeyringBytes);
  EXPECT_GT(KeyringBytes(), inspection::kMaxKeyringBytes / 2);
}

TEST_F(PodInspectorTest, AResultWithADeletedSecretIsNotShared) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  Pod first = MakePod("first").Image("r.io/app:1").PullSecret("s");
  EXPECT_FALSE(Inspect(first));
  images_.SetDefault(ArchitectureSet{"amd64"});
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("ns/first"));
  // Within the time that results are shared; the first pod gets the new result as well.
  api_.Delete<kube::core::Secret>({"ns", "s"});
  EXPECT_FALSE(Inspect(MakePod("second").Image("r.io/app:1").PullSecret("s")));
  EXPECT_TRUE(Inspect(first));
  EXPECT_THAT(Inspected(), ElementsAre("r.io/app:1 as ann", "r.io/app:1 as "));
}

TEST_F(PodInspectorTest, AChangedSecretIsUsedByTheNextCall) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  EXPECT_FALSE(Inspect(MakePod("first").Image("r.io/app:1").PullSecret("s")));
  PutSecret("ns", "s", DockerConfig("bob", 0));
  EXPECT_FALSE(Inspect(MakePod("second").Image("r.io/app:1").PullSecret("s")));
  EXPECT_THAT(Inspected(), ElementsAre("r.io/app:1 as ann", "r.io/app:1 as bob"));
}

// However many pods of a namespace wait for registries that do not answer.
TEST_F(PodInspectorTest, TheMemoryOfANamespaceIsLimited) {
  constexpr int kPods = 200;
  for (int i = 0; i < kPods; ++i) {
    std::string name = std::to_string(i);
    PutSecret("greedy", name, DockerConfig("u" + name, 50'000));
    EXPECT_FALSE(
        Inspect(MakePod(name).Namespace("greedy").Image("r.io/app:" + name).PullSecret(name)));
  }
  EXPECT_LE(KeyringBytes(), 5u << 20);
  EXPECT_LT(images_.requests().size(), static_cast<size_t>(kPods));
  EXPECT_FALSE(Inspect(MakePod("web").Namespace("modest").Image("r.io/modest:1")));
  EXPECT_EQ(queue_.in_flight() + queue_.queued(), images_.requests().size() + queue_.queued());
  EXPECT_TRUE(queue_.WaitingSince({"modest", "web"}));

  // Queued pods continue when others leave.
  woken_.clear();
  inspector_->Forget({"greedy", "0"});
  inspector_->Forget({"greedy", "1"});
  EXPECT_THAT(woken_, Contains(HasSubstr("greedy/")));
}

// However many Secrets the pods of some namespaces name.
TEST_F(PodInspectorTest, TheSecretsOfANewNamespaceAreReadSoon) {
  PutSecret("another", "own", DockerConfig("ann", 0));
  client_.Hold("/secrets/slow-");
  constexpr int kPods = 12;
  for (int i = 0; i < kPods; ++i) Start(Slow("ns" + std::to_string(i / 4), std::to_string(i)));
  Start(MakePod("web").Namespace("another").Image("r.io/own:1").PullSecret("own"));
  // One read of each pod.
  client_.Release(kPods);
  kube::Drain(io_);
  EXPECT_THAT(Inspected(), ElementsAre("r.io/own:1 as ann"));
  client_.Release();
  kube::Drain(io_);
}

// A worker of the controller waits for each of them.
TEST_F(PodInspectorTest, NotAllWorkersReadSecrets) {
  client_.Hold("/secrets/slow-");
  for (int i = 0; i < 40; ++i) Start(Slow("ns" + std::to_string(i), std::to_string(i)));
  EXPECT_EQ(running_, 12);
  woken_.clear();
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(running_, 0);
  EXPECT_THAT(woken_, ::testing::SizeIs(12)) << "they keep their places until they are inspected";
}

TEST_F(PodInspectorTest, DeletedPodsLeaveNothingInTheQueue) {
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i);
    EXPECT_FALSE(Inspect(MakePod(name).Image("r.io/app:" + name)));
    inspector_->Forget({"ns", name});
  }
  // Started inspections end, the others are not started, and a new pod's request is queued again.
  EXPECT_FALSE(Inspect(MakePod("web").Image("r.io/app:99")));
  images_.SetDefault(ArchitectureSet{"amd64"});
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("ns/web"));
  EXPECT_EQ(queue_.in_flight() + queue_.queued(), 0u);
}

TEST_F(PodInspectorTest, ImagesMustSupportTheSameOperatingSystem) {
  images_.SetPlatforms("r.io/a", {{"linux", "amd64"}, {"windows", "amd64"}, {"windows", "arm64"}});
  images_.SetPlatforms("r.io/b", {{"linux", "arm64"}, {"windows", "arm64"}});
  Pod pod = MakePod("web").Image("r.io/a").Image("r.io/b");
  EXPECT_FALSE(Inspect(pod));
  auto result = kube::Run(io_, inspector_->Inspect(pod));
  ASSERT_TRUE(result && *result);
  EXPECT_EQ((*result)->platforms.by_os,
            (std::map<std::string, ArchitectureSet>{{"windows", {"arm64"}}}));
}

TEST_F(PodInspectorTest, WhatWasKnownBeforeIsSaidAndCounted) {
  images_.SetResult("r.io/a", ArchitectureSet{"amd64"});
  images_.SetResult("r.io/b", ArchitectureSet{"amd64"});
  images_.SetStale("r.io/b", "r.io/b was read 5 minutes ago");
  Pod pod = MakePod("web").Image("r.io/a").Image("r.io/b");
  EXPECT_FALSE(Inspect(pod));
  auto result = kube::Run(io_, inspector_->Inspect(pod));
  ASSERT_TRUE(result && *result);
  EXPECT_EQ((*result)->stale, "r.io/b was read 5 minutes ago");
  EXPECT_EQ(placement_metrics_.stale_inspections.Value(), 1);
}

// Their failures count in no metric of pods, so their inspections must not either.
TEST_F(PodInspectorTest, TemplatesCountInNoMetricOfPods) {
  images_.SetResult("r.io/a", ArchitectureSet{"amd64"});
  images_.SetStale("r.io/a", "r.io/a was read 5 minutes ago");
  auto inspected = [&] {
    return placement_metrics_.time_to_inspect_pod_images.Collect().histogram.sample_count;
  };
  for (const char* name : {"jobs/web", "web"}) {
    EXPECT_EQ(inspected(), 0u);
    EXPECT_EQ(placement_metrics_.stale_inspections.Value(), 0);
    Pod pod = MakePod(name).Image("r.io/a");
    EXPECT_FALSE(Inspect(pod));
    EXPECT_TRUE(Inspect(pod));
  }
  EXPECT_EQ(inspected(), 1u);
  EXPECT_EQ(placement_metrics_.stale_inspections.Value(), 1);
}

TEST_F(PodInspectorTest, AnImageThatIsOnlyMountedIsReadAsAVolume) {
  Pod pod = MakePod("web").Image("r.io/run").PullSecret("pull");
  PutSecret("ns", "pull", DockerConfig("ann", 0));
  for (const char* reference : {"r.io/run", "r.io/data"}) {
    pod.mutable_spec()->add_volumes()->mutable_source()->mutable_image()->set_reference(reference);
  }
  EXPECT_FALSE(Inspect(pod));
  std::map<std::string, inspection::Use> uses;
  for (const ImageRequest& request : images_.requests()) {
    uses[request.image] = request.use;
    EXPECT_NE(request.keyring, nullptr) << request.image;
  }
  EXPECT_EQ(uses,
            (std::map<std::string, inspection::Use>{{"r.io/run", inspection::Use::kContainer},
                                                    {"r.io/data", inspection::Use::kVolume}}));
}

TEST_F(PodInspectorTest, AnImageThatIsNeverPulledIsThatOfItsNodes) {
  Pod pod = MakePod("web").Image("r.io/app:1", "Never");
  EXPECT_FALSE(Inspect(pod));
  EXPECT_THAT(kube::Run(io_, inspector_->Inspect(pod)),
              FailsWith(Code::kNotFound, HasSubstr("no node has the image")));
  api_.Create(NodeWithImages("n", "linux", "s390x", {{"r.io/app:1"}}));
  clock_.Advance(1min);
  EXPECT_FALSE(Inspect(pod));
  auto result = kube::Run(io_, inspector_->Inspect(pod));
  ASSERT_TRUE(result && *result);
  EXPECT_THAT((*result)->platforms.On("linux"), ElementsAre("s390x"));
  EXPECT_EQ((*result)->stale, "");
  EXPECT_TRUE((*result)->from_nodes);
  EXPECT_THAT(kube::Run(io_, inspector_->Prefetch(PodInspector::Images::Of(pod))), IsOk());
  EXPECT_THAT(images_.requests(), IsEmpty());
}

// Only if it may be used without being pulled again, and not after the first failure of a registry.
TEST_F(PodInspectorTest, ARegistryThatCannotTellLeavesItToTheNodes) {
  api_.Create(NodeWithImages("n", "linux", "s390x", {{"r.io/app:1"}}));
  struct Row {
    kube::Error error;
    bool nodes;
    bool nodes_at_last;
  };
  for (const Row& row : {Row{kube::Error::NotFound("404"), true, true},
                         Row{kube::Error::Unavailable("503"), false, true},
                         Row{kube::Error::Throttled("429"), false, true},
                         Row{kube::Error::DeadlineExceeded("slow"), false, true},
                         Row{kube::Error::Unauthenticated("401"), false, false},
                         Row{kube::Error::PermissionDenied("403"), false, false},
                         Row{kube::Error::Invalid("no image"), false, false}}) {
    for (bool last : {false, true}) {
      for (const char* policy : {"IfNotPresent", "Always"}) {
        images_.SetDefault(row.error);
        Pod pod = MakePod("web").Image("r.io/app:1", policy);
        auto result = kube::Run(io_, inspector_->Inspect(pod, last));
        // The inspection, then the list of nodes.
        for (int wait = 0; wait < 2 && result && !*result; ++wait) {
          kube::Drain(io_);
          result = kube::Run(io_, inspector_->Inspect(pod, last));
        }
        bool nodes =
            (last ? row.nodes_at_last : row.nodes) && policy == std::string("IfNotPresent");
        if (nodes) {
          ASSERT_TRUE(result && *result) << row.error;
          EXPECT_THAT((*result)->platforms.On("linux"), ElementsAre("s390x"));
          EXPECT_EQ((*result)->stale, "r.io/app:1 is on nodes; " + row.error.message());
          EXPECT_TRUE((*result)->from_nodes);
        } else {
          EXPECT_THAT(result, FailsWith(row.error.code())) << policy;
        }
        // The result is not shared any more.
        clock_.Advance(10s);
      }
    }
  }
}

TEST_F(PodInspectorTest, TooManyImagesOrTooLongNamesAreAnError) {
  MakePod many("web");
  for (int i = 0; i < 257; ++i) many.Image("r.io/app:" + std::to_string(i));
  EXPECT_THAT(kube::Run(io_, inspector_->Inspect(many)),
              FailsWith(Code::kInvalid, HasSubstr("257 different images")));
  Pod longest = MakePod("web").Image("r.io/" + std::string(1'000'000, 'x'));
  auto refused = kube::Run(io_, inspector_->Inspect(longest));
  ASSERT_THAT(refused, FailsWith(Code::kInvalid, HasSubstr("longer than 1024 bytes")));
  EXPECT_LT(refused.error().message().size(), 1000u);
  EXPECT_THAT(images_.requests(), IsEmpty());
}

TEST_F(PodInspectorTest, NothingIsPrefetchedWhileTheQueueIsLong) {
  Make({.prefetch_queued = 3});
  for (int i = 0; i < 40; ++i) {
    Pod pod = MakePod(std::to_string(i)).Image("r.io/app:" + std::to_string(i));
    EXPECT_THAT(kube::Run(io_, inspector_->Prefetch(PodInspector::Images::Of(pod))), IsOk());
    kube::Drain(io_);
  }
  EXPECT_EQ(queue_.queued(), 3u);
  EXPECT_FALSE(inspector_->CanPrefetch());
}

TEST_F(PodInspectorTest, WhatWasFoundOutAboutAnImageCounts) {
  ImageFindings findings;
  std::vector<std::string> inspected;
  findings.OnInspected([&](const ImageRequest& request, const inspection::Inspected& image) {
    inspected.push_back(request.image + " " + image.digest);
  });
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64", "arm64"});
  images_.SetDigest("r.io/app:1", "sha256:1");
  Pod pod = MakePod("web").Namespace("team-a").Image("r.io/app:1");
  auto inspect = [&]() -> PodImages {
    Inspect(pod);
    auto result = kube::Run(io_, inspector_->Inspect(pod));
    EXPECT_TRUE(result && *result);
    return result && *result ? **result : PodImages();
  };
  findings.Put("f", {.digest = "sha256:1", .architecture = "arm64", .ns = "team-a"});
  EXPECT_THAT(inspect().platforms.On("linux"), ElementsAre("amd64", "arm64")) << "not in use";

  inspector_->Use(&findings);
  PodImages images = inspect();
  EXPECT_THAT(images.platforms.On("linux"), ElementsAre("amd64"));
  EXPECT_THAT(images.avoided, ElementsAre("arm64"));
  EXPECT_EQ(images.wrong_image, "r.io/app:1");
  EXPECT_THAT(inspected, Contains("r.io/app:1 sha256:1"));

  findings.Put("g", {.digest = "sha256:1", .architecture = "amd64"});
  images = inspect();
  EXPECT_THAT(images.platforms.On("linux"), ElementsAre("amd64", "arm64"));
  EXPECT_TRUE(images.believes_indexes);

  findings.Erase("g");
  pod.mutable_metadata()->set_namespace_("team-b");
  images = inspect();
  EXPECT_THAT(images.platforms.On("linux"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(images.avoided, IsEmpty());
}

}  // namespace
}  // namespace cluster_controller

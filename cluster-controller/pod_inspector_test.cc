// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <set>

#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/config/credentials.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using inspection::ImageRequest;
using kube::Async;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::ObjectKey;
using kube::Result;
using kube::core::Pod;
using placement::ArchitectureSet;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Answers when the test says so; notes who is asked with whose credentials, and what of them is in
// memory.
class SlowImages final : public inspection::ImageInspector {
 public:
  Async<ArchitectureSet> Architectures(ImageRequest request) override {
    co_await kube::IgnoreCancellation();
    std::string user;
    if (request.keyring != nullptr) {
      for (const auto& credential : request.keyring->Match("r.io", "app"))
        user += credential.username;
    }
    asked_.push_back(request.image + " as " + user);
    keyrings_[request.keyring.get()] = request.keyring == nullptr ? 0 : request.keyring->bytes();
    while (!answering_) {
      Result<void> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    co_return ArchitectureSet{"amd64"};
  }
  std::optional<Result<ArchitectureSet>> Remembered(const ImageRequest&) override {
    return std::nullopt;
  }
  Result<void> SetConfig(inspection::InspectorConfig) override { return kube::Ok(); }
  inspection::InspectorStats stats() const override { return {}; }

  void Answer() {
    answering_ = true;
    changed_.NotifyAll();
  }

  bool answering_ = false;
  std::vector<std::string> asked_;
  std::map<const inspection::Keyring*, size_t> keyrings_;
  kube::Notifier changed_;
};

class PodInspectorTest : public ::testing::Test {
 protected:
  PodInspectorTest() {
    auto wake = [this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); };
    queue_.OnAnswer(wake);
    Make({});
  }
  ~PodInspectorTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  void Make(PodInspectorOptions options) {
    inspector_.emplace(queue_, secrets_, controller_metrics_, clock_, options);
    inspector_->OnTurn([this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); });
  }
  // True if the pod has its answer.
  bool Ask(const Pod& pod) {
    auto answer = kube::Run(io_, inspector_->Architectures(pod));
    EXPECT_THAT(answer, IsOk());
    kube::Drain(io_);
    return answer && *answer;
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
  kube::TaskGroup tasks_{io_.get_executor()};
  SlowImages images_;
  kube::Metrics metrics_;
  ControllerMetrics controller_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, controller_metrics_};
  PullSecrets secrets_{api_, clock_};
  std::optional<PodInspector> inspector_;
  std::vector<std::string> woken_;
};

TEST_F(PodInspectorTest, AllImagesOfAPodShareItsKeyring) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  MakePod pod("web");
  for (int i = 0; i < 8; ++i) pod.Image("r.io/app:" + std::to_string(i));
  EXPECT_FALSE(Ask(pod.PullSecret("s")));
  EXPECT_EQ(images_.asked_.size(), 8u);
  EXPECT_EQ(images_.keyrings_.size(), 1u);
}

// 32 secrets of 1 MiB, which is what a pod may name and the API server takes: none of them is kept.
TEST_F(PodInspectorTest, HugeSecretsAreNotHeld) {
  MakePod pod("web");
  for (int i = 0; i < 32; ++i) {
    std::string name = "s" + std::to_string(i);
    PutSecret("ns", name, DockerConfig("u" + name, 1'000'000));
    pod.PullSecret(name);
  }
  EXPECT_FALSE(Ask(pod.Image("r.io/app:1")));
  ASSERT_THAT(images_.asked_, ElementsAre("r.io/app:1 as "));
  EXPECT_LT(images_.keyrings_.begin()->second, 1000u);
}

TEST_F(PodInspectorTest, SecretsTogetherAreBounded) {
  MakePod pod("web");
  for (int i = 0; i < 32; ++i) {
    std::string name = "s" + std::to_string(i);
    PutSecret("ns", name, DockerConfig("u" + name, 50'000));
    pod.PullSecret(name);
  }
  EXPECT_FALSE(Ask(pod.Image("r.io/app:1")));
  ASSERT_EQ(images_.keyrings_.size(), 1u);
  EXPECT_LE(images_.keyrings_.begin()->second, inspection::kMaxKeyringBytes);
  EXPECT_GT(images_.keyrings_.begin()->second, inspection::kMaxKeyringBytes / 2);
}

TEST_F(PodInspectorTest, WhatWasLearntWithADeletedSecretIsGivenToNobody) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  Pod first = MakePod("first").Image("r.io/app:1").PullSecret("s");
  EXPECT_FALSE(Ask(first));
  images_.Answer();
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("ns/first"));
  // Within the time that answers are shared for; the pod that had asked is given the new answer as
  // well.
  api_.Delete<kube::core::Secret>({"ns", "s"});
  EXPECT_FALSE(Ask(MakePod("second").Image("r.io/app:1").PullSecret("s")));
  EXPECT_TRUE(Ask(first));
  EXPECT_THAT(images_.asked_, ElementsAre("r.io/app:1 as ann", "r.io/app:1 as "));
}

TEST_F(PodInspectorTest, AChangedSecretCountsFromTheNextQuestionOn) {
  PutSecret("ns", "s", DockerConfig("ann", 0));
  EXPECT_FALSE(Ask(MakePod("first").Image("r.io/app:1").PullSecret("s")));
  PutSecret("ns", "s", DockerConfig("bob", 0));
  EXPECT_FALSE(Ask(MakePod("second").Image("r.io/app:1").PullSecret("s")));
  EXPECT_THAT(images_.asked_, ElementsAre("r.io/app:1 as ann", "r.io/app:1 as bob"));
}

// However many pods of a namespace wait for registries that do not answer.
TEST_F(PodInspectorTest, ANamespaceHoldsNoMoreThanItsPartOfMemory) {
  constexpr int kPods = 200;
  for (int i = 0; i < kPods; ++i) {
    std::string name = std::to_string(i);
    PutSecret("greedy", name, DockerConfig("u" + name, 50'000));
    EXPECT_FALSE(Ask(MakePod(name).Namespace("greedy").Image("r.io/app:" + name).PullSecret(name)));
  }
  size_t bytes = 0;
  for (const auto& [keyring, size] : images_.keyrings_) bytes += size;
  EXPECT_LE(bytes, 5u << 20);
  EXPECT_LT(images_.asked_.size(), static_cast<size_t>(kPods));
  EXPECT_FALSE(Ask(MakePod("web").Namespace("modest").Image("r.io/modest:1")));
  EXPECT_EQ(queue_.under_way() + queue_.waiting(), images_.asked_.size() + queue_.waiting());
  EXPECT_TRUE(queue_.AskedSince({"modest", "web"}));

  // Those in line go on when others leave.
  woken_.clear();
  inspector_->Forget({"greedy", "0"});
  inspector_->Forget({"greedy", "1"});
  EXPECT_THAT(woken_, Contains(HasSubstr("greedy/")));
}

TEST_F(PodInspectorTest, PodsThatAreGoneLeaveNothingInTheQueue) {
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i);
    EXPECT_FALSE(Ask(MakePod(name).Image("r.io/app:" + name)));
    inspector_->Forget({"ns", name});
  }
  // Those that had begun end; the others are not asked for, and a new pod's question is a new one.
  EXPECT_FALSE(Ask(MakePod("web").Image("r.io/app:99")));
  images_.Answer();
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("ns/web"));
  EXPECT_EQ(queue_.under_way() + queue_.waiting(), 0u);
}

TEST_F(PodInspectorTest, APodOfTooManyImagesOrTooLongNamesIsAnError) {
  MakePod many("web");
  for (int i = 0; i < 257; ++i) many.Image("r.io/app:" + std::to_string(i));
  EXPECT_THAT(kube::Run(io_, inspector_->Architectures(many)),
              FailsWith(Code::kInvalid, HasSubstr("257 different images")));
  Pod longest = MakePod("web").Image("r.io/" + std::string(1'000'000, 'x'));
  auto refused = kube::Run(io_, inspector_->Architectures(longest));
  ASSERT_THAT(refused, FailsWith(Code::kInvalid, HasSubstr("longer than 1024 bytes")));
  EXPECT_LT(refused.error().message().size(), 1000u);
  EXPECT_THAT(images_.asked_, IsEmpty());
}

TEST_F(PodInspectorTest, NothingIsPrefetchedWhileMuchWaits) {
  Make({.prefetch_line = 3});
  for (int i = 0; i < 40; ++i) {
    Pod pod = MakePod(std::to_string(i)).Image("r.io/app:" + std::to_string(i));
    EXPECT_THAT(kube::Run(io_, inspector_->Prefetch(PodInspector::Images::Of(pod))), IsOk());
    kube::Drain(io_);
  }
  EXPECT_EQ(queue_.waiting(), 3u);
  EXPECT_FALSE(inspector_->HasTimeToPrefetch());
}

}  // namespace
}  // namespace cluster_controller

// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/image_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/testing/make_config.h"
#include "inspection/base/timing.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;

class ImageAccessTest : public testing::Test {
 protected:
  ImageAccessTest() {
    api::MakeClusterConfig config;
    config.Set("/spec/globalPullSecretRef/name", "global");
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, config.Build());
    kube::core::Secret secret;
    secret.mutable_metadata()->set_namespace_("ops");
    secret.mutable_metadata()->set_name("global");
    secret.set_type("kubernetes.io/dockerconfigjson");
    (*secret.mutable_data())[".dockerconfigjson"] =
        R"({"auths": {"r.io": {"username": "ann", "password": "p"}}})";
    api_.Create(secret);
  }
  ~ImageAccessTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void Start(bool watch_global_secret) {
    access_.emplace(io_.get_executor(), api_, clock_,
                    ImageAccessOptions{.ns = "ops", .watch_global_secret = watch_global_secret});
    access_->Start(tasks_);
    EXPECT_THAT(kube::Run(io_, access_->WaitForSync()), kube::IsOk());
    kube::Drain(io_);
    EXPECT_TRUE(access_->synced());
  }
  // The user of the global pull secret.
  std::string User() {
    auto keyring = kube::Run(io_, access_->secrets().For("shop", {}));
    EXPECT_THAT(keyring, kube::IsOk());
    return keyring && *keyring != nullptr ? (*keyring)->Match("r.io", "x")[0].username : "";
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  std::optional<ImageAccess> access_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(ImageAccessTest, TheGlobalPullSecretIsWatched) {
  Start(/*watch_global_secret=*/true);
  EXPECT_EQ(api_.CountCalls("WATCH /api/v1/namespaces/ops/secrets"), 1);
  EXPECT_EQ(User(), "ann");
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/ops/secrets/global"), 0);
}

// For a program without the right to watch it.
TEST_F(ImageAccessTest, OrReadEachTime) {
  Start(/*watch_global_secret=*/false);
  EXPECT_EQ(User(), "ann");
  EXPECT_EQ(User(), "ann");
  EXPECT_EQ(api_.CountCalls("WATCH /api/v1/namespaces/ops/secrets"), 0);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/ops/secrets/global"), 2);
}

// Against a registry that accepts connections and says nothing.
TEST_F(ImageAccessTest, AnInspectionEndsInTime) {
  using boost::asio::ip::tcp;
  tcp::acceptor registry(io_, {boost::asio::ip::address_v4::loopback(), 0});
  access_.emplace(io_.get_executor(), api_, kube::RealClock(),
                  ImageAccessOptions{.ns = "ops", .inspection_timeout = 50ms});
  access_->Start(tasks_);
  EXPECT_THAT(kube::Run(io_, access_->WaitForSync()), kube::IsOk());
  std::string image = "127.0.0.1:" + std::to_string(registry.local_endpoint().port()) + "/app:1";
  kube::TimePoint start = kube::RealClock().Now();
  auto inspected = kube::Run(io_, access_->images().Inspect({.image = image}));
  EXPECT_LT(kube::RealClock().Now() - start, inspection::kConnectTimeout) << "ended by another one";
  ASSERT_FALSE(inspected);
  EXPECT_THAT(inspected.error().message(), testing::HasSubstr("inspect " + image));
}

}  // namespace
}  // namespace cluster_controller

// SPDX-License-Identifier: Apache-2.0
// Real control planes. Skipped without KUBEBUILDER_ASSETS.
#include "e2e/cluster_harness/control_plane.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>

#include "e2e/cluster_harness/own_network.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Result;

constexpr auto kPatience = 120s;

class ControlPlaneTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("KUBEBUILDER_ASSETS");
    if (assets == nullptr || *assets == '\0') GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set";
    options_.assets = assets;
    options_.folder =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    options_.only_api_server = true;
    std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
    Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
  }

  std::unique_ptr<ControlPlane> Start() {
    auto plane = ControlPlane::Start(options_);
    EXPECT_TRUE(plane) << plane.error();
    return plane ? std::move(*plane) : nullptr;
  }

  // Of the API server at `host`.
  std::unique_ptr<kube::Client> Connect(const ControlPlane& plane, const std::string& host) {
    auto config = kube::LoadKubeconfig(plane.admin_kubeconfig());
    EXPECT_TRUE(config) << config.error();
    config->server = "https://" + host + ":" + std::to_string(plane.port());
    auto client = kube::NewClient(io_.get_executor(), kube::RealClock(), *config);
    EXPECT_TRUE(client) << client.error();
    return std::move(*client);
  }

  // Until it succeeds, for kPatience at most.
  Result<> CreateNamespace(kube::Client& client, const std::string& name) {
    kube::Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}};
    object["metadata"]["name"] = name;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      kube::ApiRequest request{.method = kube::Method::kPost,
                               .target = kube::kNamespaces.Path(),
                               .content_type = std::string(kube::kJson),
                               .body = kube::DumpJson(object),
                               .timeout = 5s};
      Result<kube::ApiResponse> answer = Run(client.Call(std::move(request)));
      // An earlier attempt may have had no answer.
      if (answer || FailedWith(answer, kube::Code::kAlreadyExists)) return kube::Ok();
      if (std::chrono::steady_clock::now() > deadline) return answer.error();
      io_.restart();
      io_.run_for(200ms);
    }
  }
  bool HasNamespace(kube::Client& client, const std::string& name) {
    kube::ApiRequest request{.target = kube::kNamespaces.Path("", name), .timeout = 5s};
    return Run(client.Call(std::move(request))).has_value();
  }

  template <class T>
  Result<T> Run(kube::Async<T> work) {
    std::optional<Result<T>> done;
    boost::asio::co_spawn(io_, std::move(work), [&done](std::exception_ptr, Result<T> result) {
      done = std::move(result);
    });
    while (!done) {
      if (io_.stopped()) io_.restart();
      io_.run_one();
    }
    return std::move(*done);
  }

  boost::asio::io_context io_{1};
  ControlPlaneOptions options_;
};

TEST_F(ControlPlaneTest, OneOfEachIsTheDefault) {
  auto plane = Start();
  ASSERT_NE(plane, nullptr);
  EXPECT_EQ(plane->host(), "127.0.0.1");
  EXPECT_EQ(plane->host_for_pods(), "127.0.0.1");
  auto client = Connect(*plane, plane->host());
  Result<> created = CreateNamespace(*client, "one");
  ASSERT_TRUE(created) << created.error();
  Result<> all = plane->AllRun();
  EXPECT_TRUE(all) << all.error();
  EXPECT_EQ(plane->Pids().size(), 2U);

  // What was stored is there after a restart.
  ASSERT_TRUE(plane->Kill(ControlPlane::ApiServerName(0)));
  EXPECT_FALSE(HasNamespace(*client, "one"));
  EXPECT_FALSE(plane->Kill(ControlPlane::ApiServerName(0))) << "it was killed before";
  ASSERT_TRUE(plane->Restart(ControlPlane::ApiServerName(0)));
  created = CreateNamespace(*client, "two");
  ASSERT_TRUE(created) << created.error();
  EXPECT_TRUE(HasNamespace(*client, "one"));
}

TEST_F(ControlPlaneTest, ThreeMembersOfEtcdLoseOneAndTwoApiServersShareThem) {
  options_.etcd = {
      {"127.0.1.1", "127.0.1.1"}, {"127.0.1.2", "127.0.1.2"}, {"127.0.1.3", "127.0.1.3"}};
  const std::vector<std::string> members = {"127.0.1.1", "127.0.1.2", "127.0.1.3"};
  options_.api_servers = {{"127.0.0.2", members}, {"127.0.0.3", members}};
  auto plane = Start();
  ASSERT_NE(plane, nullptr);
  EXPECT_EQ(plane->host(), "127.0.0.2");
  auto one = Connect(*plane, "127.0.0.2");
  auto other = Connect(*plane, "127.0.0.3");
  Result<> created = CreateNamespace(*one, "one");
  ASSERT_TRUE(created) << created.error();
  created = CreateNamespace(*other, "other");
  ASSERT_TRUE(created) << created.error();
  EXPECT_TRUE(HasNamespace(*other, "one"));
  EXPECT_TRUE(HasNamespace(*one, "other"));

  ASSERT_TRUE(plane->Kill(ControlPlane::EtcdName(0)));
  created = CreateNamespace(*other, "with-two-members");
  ASSERT_TRUE(created) << created.error();
  ASSERT_TRUE(plane->Restart(ControlPlane::EtcdName(0)));
  ASSERT_TRUE(plane->Kill(ControlPlane::EtcdName(1)));
  created = CreateNamespace(*one, "with-the-restarted-one");
  ASSERT_TRUE(created) << created.error();
  EXPECT_TRUE(plane->Ended().empty());
}

TEST_F(ControlPlaneTest, ControllersThatEndedAreStartedAgain) {
  options_.only_api_server = false;
  auto plane = Start();
  ASSERT_NE(plane, nullptr);
  const std::vector<std::string> ended = {"kube-apiserver", "kube-scheduler"};
  for (const std::string& program : ended) {
    ASSERT_TRUE(plane->Signal(program, SIGKILL));
  }
  while (plane->Ended() != ended) io_.run_for(10ms);

  Result<> restarted = plane->RestartControllers();
  ASSERT_TRUE(restarted) << restarted.error();
  EXPECT_EQ(plane->Ended(), std::vector<std::string>{"kube-apiserver"});
}

}  // namespace
}  // namespace e2e

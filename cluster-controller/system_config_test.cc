// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/system_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/names.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reader.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

// Remembers how it was configured.
class ConfiguredImages final : public inspection::ImageInspector {
 public:
  kube::Async<placement::ArchitectureSet> Architectures(inspection::ImageRequest) override {
    co_return kube::Error::Internal("not asked for");
  }
  std::optional<kube::Result<placement::ArchitectureSet>> Remembered(
      const inspection::ImageRequest&) override {
    return std::nullopt;
  }
  kube::Result<void> SetConfig(inspection::InspectorConfig next) override {
    config = std::move(next);
    ++times;
    return kube::Ok();
  }
  inspection::InspectorStats stats() const override { return {}; }

  inspection::InspectorConfig config;
  int times = 0;
};

class SystemConfigTest : public testing::Test {
 protected:
  SystemConfigTest() {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
    std::filesystem::create_directories(folder_);
    files_.registries_conf = folder_ + "/registries.conf";
    Write("one");
  }

  void Write(const std::string& text) { std::ofstream(files_.registries_conf) << text; }
  void Start() {
    config_.emplace("ops", files_, cluster_configs_, config_maps_, images_, secrets_, shards_,
                    openshift_);
  }
  void Pass(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }
  // A ClusterPodPlacementConfig that names a ConfigMap with this registries.conf.
  void PutConfigMap(const std::string& registries_conf) {
    api::ClusterPodPlacementConfig config;
    config.mutable_metadata()->set_name(std::string(api::kClusterConfigName));
    config.spec.registries_config_map = "registries";
    cluster_configs_.Put(config);
    kube::core::ConfigMap map;
    map.mutable_metadata()->set_namespace_("ops");
    map.mutable_metadata()->set_name("registries");
    (*map.mutable_data())["registries.conf"] = registries_conf;
    config_maps_.Put(map);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::FakeReader<api::ClusterPodPlacementConfig> cluster_configs_;
  kube::FakeReader<kube::core::ConfigMap> config_maps_;
  ConfiguredImages images_;
  PullSecrets secrets_{api_, clock_};
  ShardWatch shards_{clock_, 30s};
  OpenShiftConfig openshift_;
  std::string folder_;
  inspection::NodeFilePaths files_;
  std::optional<SystemConfig> config_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(SystemConfigTest, FilesAreReadAtTheStartAndThenOnlyWhereTheyAreWatched) {
  Start();
  config_->Apply();
  EXPECT_EQ(images_.config.registries_conf, "one");
  Write("two");
  config_->Apply();
  EXPECT_EQ(images_.config.registries_conf, "one") << "an event of an object reads no file";
  tasks_.Spawn("files", config_->WatchFiles(clock_, 10s));
  kube::Drain(io_);
  Pass(9s);
  EXPECT_EQ(images_.config.registries_conf, "one");
  Pass(1s);
  EXPECT_EQ(images_.config.registries_conf, "two");
  EXPECT_EQ(images_.times, 3);
  Pass(10s);
  EXPECT_EQ(images_.times, 3) << "nothing has changed";
  EXPECT_TRUE(kube::Run(io_, tasks_.Stop(clock_, 1s)));
}

TEST_F(SystemConfigTest, WhatCannotBeReadLeavesWhatWasThere) {
  Start();
  std::filesystem::remove(files_.registries_conf);
  std::filesystem::create_directory(files_.registries_conf);
  tasks_.Spawn("files", config_->WatchFiles(clock_, 10s));
  kube::Drain(io_);
  Pass(10s);
  config_->Apply();
  EXPECT_EQ(images_.config.registries_conf, "one");
  // And is used once it can be read.
  std::filesystem::remove(files_.registries_conf);
  Write("two");
  Pass(10s);
  EXPECT_EQ(images_.config.registries_conf, "two");
  EXPECT_TRUE(kube::Run(io_, tasks_.Stop(clock_, 1s)));
}

TEST_F(SystemConfigTest, AConfigMapCountsInPlaceOfTheFile) {
  std::filesystem::create_directories(files_.registries_conf + ".d");
  std::ofstream(files_.registries_conf + ".d/10.conf") << "drop-in";
  Start();
  config_->Apply();
  EXPECT_EQ(images_.config.registries_conf_drop_ins.size(), 1u);
  PutConfigMap("from the object");
  config_->Apply();
  EXPECT_EQ(images_.config.registries_conf, "from the object");
  EXPECT_THAT(images_.config.registries_conf_drop_ins, IsEmpty());
}

}  // namespace
}  // namespace cluster_controller

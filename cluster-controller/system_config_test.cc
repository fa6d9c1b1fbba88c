// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/system_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "inspection/testing/fake_inspector.h"
#include "inspection/testing/test_folder.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reader.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class SystemConfigTest : public inspection::TestFolder {
 protected:
  SystemConfigTest() {
    files_.registries_conf = root_ + "/registries.conf";
    WriteRegistriesConf("one");
  }

  void WriteRegistriesConf(const std::string& text) { Write("registries.conf", text); }
  std::string RegistriesConf() const { return images_.configs().back().registries_conf; }
  void Start() {
    config_.emplace("ops", files_, cluster_configs_, config_maps_, images_, secrets_, openshift_);
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }
  // A ClusterPodPlacementConfig that names a ConfigMap with this registries.conf.
  void PutConfigMap(const std::string& registries_conf) {
    cluster_configs_.Put(
        api::MakeClusterConfig().Set("/spec/registriesConfigMapRef/name", "registries"));
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
  inspection::FakeInspector images_;
  PullSecrets secrets_{api_, clock_};
  OpenShiftConfig openshift_;
  inspection::NodeFilePaths files_;
  std::optional<SystemConfig> config_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(SystemConfigTest, FilesAreReadAtTheStartAndByWatchFiles) {
  Start();
  config_->Apply();
  EXPECT_EQ(RegistriesConf(), "one");
  WriteRegistriesConf("two");
  config_->Apply();
  EXPECT_EQ(RegistriesConf(), "one") << "Apply() reads no file";
  tasks_.Spawn("files", config_->WatchFiles(clock_, 10s));
  kube::Drain(io_);
  Advance(9s);
  EXPECT_EQ(RegistriesConf(), "one");
  Advance(1s);
  EXPECT_EQ(RegistriesConf(), "two");
  EXPECT_EQ(images_.configs().size(), 3u);
  Advance(10s);
  EXPECT_EQ(images_.configs().size(), 3u) << "nothing has changed";
  EXPECT_TRUE(kube::Run(io_, tasks_.Stop(clock_, 1s)));
}

TEST_F(SystemConfigTest, AFileThatCannotBeReadKeepsThePreviousConfiguration) {
  Start();
  std::filesystem::remove(files_.registries_conf);
  std::filesystem::create_directory(files_.registries_conf);
  tasks_.Spawn("files", config_->WatchFiles(clock_, 10s));
  kube::Drain(io_);
  Advance(10s);
  config_->Apply();
  EXPECT_EQ(RegistriesConf(), "one");
  // Until it can be read again.
  std::filesystem::remove(files_.registries_conf);
  WriteRegistriesConf("two");
  Advance(10s);
  EXPECT_EQ(RegistriesConf(), "two");
  EXPECT_TRUE(kube::Run(io_, tasks_.Stop(clock_, 1s)));
}

TEST_F(SystemConfigTest, TheClustersTrustedAuthoritiesAreUsedOnOpenShiftOnly) {
  kube::core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("ops");
  map.mutable_metadata()->set_name("trusted-ca");
  (*map.mutable_data())["ca-bundle.crt"] = "PEM";
  config_maps_.Put(map);
  Start();
  config_->Apply();
  EXPECT_EQ(images_.configs().back().ca_bundle_pem, "");
  openshift_.present = true;
  config_->Apply();
  EXPECT_EQ(images_.configs().back().ca_bundle_pem, "PEM\n");
}

// The inspector drops its caches when the configuration changes.
TEST_F(SystemConfigTest, ABundleOfSeveralKeysIsAlwaysJoinedInTheOrderOfTheKeys) {
  kube::core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("ops");
  std::string joined;
  for (const char* key : {"a.crt", "b.crt", "c.crt", "d.crt", "e.crt", "f.crt", "g.crt", "h.crt"}) {
    (*map.mutable_data())[key] = std::string("PEM of ") + key;
    joined += std::string("PEM of ") + key + "\n";
  }
  for (const char* name : {"bundle", "trusted-ca"}) {
    map.mutable_metadata()->set_name(name);
    config_maps_.Put(map);
  }
  cluster_configs_.Put(api::MakeClusterConfig().Set("/spec/caBundleConfigMapRef/name", "bundle"));
  openshift_.present = true;
  Start();
  for (int i = 0; i < 5; ++i) {
    config_->Apply();
    EXPECT_EQ(images_.configs().back().ca_bundle_pem, joined + joined);
  }
}

TEST_F(SystemConfigTest, AConfigMapReplacesTheFile) {
  Write("registries.conf.d/10.conf", "drop-in");
  Start();
  config_->Apply();
  EXPECT_EQ(images_.configs().back().registries_conf_drop_ins.size(), 1u);
  PutConfigMap("from the object");
  config_->Apply();
  EXPECT_EQ(RegistriesConf(), "from the object");
  EXPECT_THAT(images_.configs().back().registries_conf_drop_ins, IsEmpty());
}

}  // namespace
}  // namespace cluster_controller

// SPDX-License-Identifier: Apache-2.0
// A registry that is a proxy: distribution 3 pulls through from Debian's docker-registry, which
// stops and starts again.
#include <cstdlib>

#include "e2e/framework/flow_fixture.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {
namespace {

using inspection::DockerRegistry;
using inspection::DockerRegistryOptions;
using inspection::kOciIndex;
using inspection::kOciManifest;
using inspection::Publisher;
using inspection::RegistryProgram;

class RegistryProxiesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    if (!IsInstalled(RegistryProgram::kDistribution))
      GTEST_SKIP() << HowToInstall(RegistryProgram::kDistribution);
    FlowFixture::SetUp();
    const char* tmp = std::getenv("TEST_TMPDIR");
    folder_ = std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns();
    StartUpstream("0");
    proxy_.emplace(DockerRegistryOptions{.program = RegistryProgram::kDistribution,
                                         .folder = folder_ + "/proxy",
                                         .storage = folder_ + "/proxy/data",
                                         .remote_url = "http://" + upstream_->host()});
    // Long enough to start the upstream again before a pod's last attempt.
    kube::Result<> known =
        UseClusterConfig(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "60s"),
                         "[[registry]]\nprefix = \"quay.test\"\nlocation = \"" + proxy_->host() +
                             "\"\ninsecure = true\n");
    ASSERT_TRUE(known) << known.error();
  }

  void StartUpstream(const std::string& port) {
    upstream_.emplace(DockerRegistryOptions{
        .folder = folder_ + "/upstream", .storage = folder_ + "/upstream/data", .port = port});
  }
  Step StopTheUpstream() {
    return {.name = "stop the upstream", .act = [this](Scene&) -> kube::Result<> {
              port_ = upstream_->port();
              upstream_.reset();
              return kube::Ok();
            }};
  }
  Step StartTheUpstream() {
    return {.name = "start the upstream", .act = [this](Scene&) -> kube::Result<> {
              StartUpstream(port_);
              return kube::Ok();
            }};
  }

  // An index without platforms: manifests and configs are read through the proxy, too. Returns its
  // digest.
  std::string Push(const std::string& repository, const std::vector<std::string>& architectures) {
    Publisher publisher(cluster().io(), upstream_->port(), "");
    std::vector<std::string> entries;
    for (const std::string& architecture : architectures) {
      std::string digest =
          publisher.PushImage(repository, "", {"linux", architecture}, kOciManifest);
      entries.push_back(R"({"mediaType":")" + std::string(kOciManifest) +
                        R"(","size":1,"digest":")" + digest + "\"}");
    }
    return publisher.PushIndex(repository, architectures.front(), entries, kOciIndex);
  }

  std::string folder_;
  std::string port_;
  std::optional<DockerRegistry> upstream_;
  std::optional<DockerRegistry> proxy_;
};

TEST_F(RegistryProxiesFlow, WithoutTheUpstreamOnlyWhatIsNewWaits) {
  Push("team/app", {"arm64", "s390x"});
  Push("team/other", {"ppc64le"});
  std::string later = "quay.test/team/app@" + Push("team/app", {"s390x"});
  ASSERT_FALSE(HasFailure());
  auto always = [](const std::string& name, const std::string& image) {
    return MakePod(name).Image(image).Set("/spec/containers/0/imagePullPolicy", "Always");
  };
  const std::string error(api::kReasonInspectionError);
  Flow(scene(), "a proxy whose upstream is down")
      .Do(Create(MakePod("app").Image("quay.test/team/app:arm64")))
      .Do(Create(MakePod("other").Image("quay.test/team/other:ppc64le")))
      .Do(Create(MakePod("absent").Image("quay.test/team/app:absent")))
      .Await(Requires("app", {"arm64", "s390x"}))
      .Await(Requires("other", {"ppc64le"}))
      .Await(EventAbout("absent", error, {"404", "MANIFEST_UNKNOWN"}))
      .Do(StopTheUpstream())
      .Do(Create(MakePod("new").Image(later)))
      .Await(EventAbout("new", error, {later, "500"}))
      // The proxy is asked for these tags, of which it has everything.
      .Do(Create(always("app-again", "quay.test/team/app:arm64")))
      .Do(Create(always("other-again", "quay.test/team/other:ppc64le")))
      .Await(Requires("app-again", {"arm64", "s390x"}))
      .Await(Requires("other-again", {"ppc64le"}))
      .Check(ClusterGated("new"))
      .Do(StartTheUpstream())
      .Await(Requires("new", {"s390x"}))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e

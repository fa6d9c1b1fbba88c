// SPDX-License-Identifier: Apache-2.0
// registries.conf of registriesConfigMapRef: images are inspected where the nodes pull them. The
// fake registries on the event loop of the flow have images of different architectures: the
// requirement shows which registry was used.
#include "e2e/framework/flow_fixture.h"
#include "inspection/testing/fake_registry.h"

namespace e2e {
namespace {

using inspection::FakeRegistry;

class RegistryMirrorsFlow : public FlowFixture {
 protected:
  // Maps images with `prefix` to upstream_, with mirror_ as its mirror.
  std::string Configuration(const std::string& prefix, const std::string& more = "") const {
    return "[[registry]]\nprefix = \"" + prefix + "\"\nlocation = \"" + upstream_.host() +
           "\"\ninsecure = true\n" + more + "[[registry.mirror]]\nlocation = \"" + mirror_.host() +
           "/cache\"\ninsecure = true\n";
  }

  FakeRegistry upstream_{TheCluster().io().get_executor(), {}};
  FakeRegistry mirror_{TheCluster().io().get_executor(), {}};
};

TEST_F(RegistryMirrorsFlow, AreUsedBeforeTheRegistry) {
  upstream_.PutImage("team/app", "1", {"linux", "amd64"});
  upstream_.PutImage("team/app", "2", {"linux", "ppc64le"});
  mirror_.PutImage("cache/team/app", "1", {"linux", "s390x"});
  kube::Result<> used = UseClusterConfig(DefaultClusterConfig(), Configuration("quay.test"));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "an image that the mirror has")
      .Do(Create(MakePod("mirrored").Image("quay.test/team/app:1")))
      .Await(Requires("mirrored", {"s390x"}));
  EXPECT_EQ(upstream_.Count("/v2/"), 0);
  EXPECT_GE(mirror_.Count("GET /v2/cache/team/app/manifests/1"), 1);
  Flow(scene(), "an image that the mirror does not have")
      .Do(Create(MakePod("newer").Image("quay.test/team/app:2")))
      .Await(Requires("newer", {"ppc64le"}));
  EXPECT_GE(upstream_.Count("GET /v2/team/app/manifests/2"), 1);
}

TEST_F(RegistryMirrorsFlow, ReplaceABlockedRegistry) {
  upstream_.PutImage("team/app", "2", {"linux", "ppc64le"});
  mirror_.PutImage("cache/team/app", "1", {"linux", "s390x"});
  kube::Result<> used =
      UseClusterConfig(DefaultClusterConfig(), Configuration(upstream_.host(), "blocked = true\n"));
  ASSERT_TRUE(used) << used.error();
  const std::string image = upstream_.host() + "/team/app";
  Flow(scene(), "a blocked registry")
      .Do(Create(MakePod("mirrored").Image(image + ":1")))
      .Await(Requires("mirrored", {"s390x"}))
      .Do(Create(MakePod("newer").Image(image + ":2")))
      .Await(EventAbout("newer", std::string(api::kReasonInspectionError),
                        {image + ":2", mirror_.host()}))
      .Await(Ungated("newer"));
  EXPECT_EQ(upstream_.Count("/v2/"), 0);
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "deploy/install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "kube/testing/advancing_clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace deploy {
namespace {

using kube::Code;
using kube::Json;
using kube::Unstructured;
using testing::HasSubstr;
using namespace std::chrono_literals;

Json Object(const kube::Resource& resource, const std::string& name, const std::string& ns = "") {
  Json object;
  object["apiVersion"] = resource.ApiVersion();
  object["kind"] = std::string(resource.kind);
  object["metadata"]["name"] = name;
  if (!ns.empty()) object["metadata"]["namespace"] = ns;
  return object;
}

class InstallTest : public testing::Test {
 protected:
  InstallTest() {
    for (const Json& json :
         {Object(kube::kNamespaces, "ops"), Object(kube::kCustomResourceDefinitions, "things.x.io"),
          Object(kube::kClusterRoles, "reader"), Object(kube::kDeployments, "program", "ops")})
      objects_.emplace_back(json);
  }
  kube::Result<> Run(InstallOptions options) {
    return kube::Run(io_, Install(api_, clock_, objects_, options));
  }
  // A CRD that `manager` has applied.
  void CreateCrd(const std::string& manager) {
    Json crd = Object(kube::kCustomResourceDefinitions, "things.x.io");
    crd["metadata"]["managedFields"] =
        Json::array({{{"manager", manager}, {"operation", "Apply"}}});
    crd["metadata"]["labels"]["version"] = "old";
    crd["status"]["conditions"] = Json::array({{{"type", "Established"}, {"status", "True"}}});
    api_.CreateJson(kube::kCustomResourceDefinitions, crd);
  }

  boost::asio::io_context io_;
  kube::AdvancingClock clock_;
  kube::FakeApiServer api_;
  std::vector<Unstructured> objects_;
};

TEST_F(InstallTest, TheNamespaceOwnsWhatIsOutsideOfItButCrds) {
  ASSERT_THAT(Run({.wait = false}), kube::IsOk());
  std::string uid = kube::StringAt(*api_.GetJson(kube::kNamespaces, {"", "ops"}), "metadata.uid");
  Json role = *api_.GetJson(kube::kClusterRoles, {"", "reader"});
  ASSERT_FALSE(uid.empty());
  EXPECT_EQ(role["metadata"]["ownerReferences"][0]["uid"], uid);
  Json crd = *api_.GetJson(kube::kCustomResourceDefinitions, {"", "things.x.io"});
  EXPECT_FALSE(crd["metadata"].contains("ownerReferences"));
  Json deployment = *api_.GetJson(kube::kDeployments, {"ops", "program"});
  EXPECT_FALSE(deployment["metadata"].contains("ownerReferences"));
}

TEST_F(InstallTest, ACrdOfAnotherToolStaysAsItIs) {
  CreateCrd("ocm");
  ASSERT_THAT(Run({.keep_foreign_crds = true, .wait = false}), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PATCH /apis/apiextensions.k8s.io"), 0);
  ASSERT_THAT(Run({.wait = false}), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PATCH /apis/apiextensions.k8s.io"), 1);
}

TEST_F(InstallTest, ACrdOfThisToolIsUpdated) {
  CreateCrd(std::string(kFieldManager));
  ASSERT_THAT(Run({.keep_foreign_crds = true, .wait = false}), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PATCH /apis/apiextensions.k8s.io"), 1);
}

TEST_F(InstallTest, NamesTheObjectThatIsNotReady) {
  CreateCrd(std::string(kFieldManager));
  Json pod = Object(kube::kPods, "program-1", "ops");
  pod["status"]["containerStatuses"] = Json::array(
      {{{"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no image"}}}}}}});
  api_.CreateJson(kube::kPods, pod);
  EXPECT_THAT(Run({.timeout = 5s}),
              kube::FailsWith(Code::kDeadlineExceeded,
                              testing::AllOf(HasSubstr("Deployment ops/program is not ready"),
                                             HasSubstr("ImagePullBackOff: no image"))));
}

TEST_F(InstallTest, UninstallDeletesInReverseOrder) {
  ASSERT_THAT(Run({.wait = false}), kube::IsOk());
  ASSERT_THAT(kube::Run(io_, Uninstall(api_, clock_, objects_, clock_.Now() + 5s)), kube::IsOk());
  EXPECT_FALSE(api_.GetJson(kube::kNamespaces, {"", "ops"}));
  std::vector<std::string> deleted;
  for (const std::string& call : api_.calls()) {
    if (call.starts_with("DELETE ")) deleted.push_back(call);
  }
  ASSERT_EQ(deleted.size(), 4u);
  EXPECT_THAT(deleted.front(), HasSubstr("/deployments/program"));
  EXPECT_THAT(deleted.back(), HasSubstr("/namespaces/ops"));
  // A second call finds nothing.
  EXPECT_THAT(kube::Run(io_, Uninstall(api_, clock_, objects_, clock_.Now() + 5s)), kube::IsOk());
}

TEST_F(InstallTest, UninstallNamesWhatStays) {
  Json role = Object(kube::kClusterRoles, "reader");
  role["metadata"]["finalizers"] = Json::array({"a.b/c"});
  api_.CreateJson(kube::kClusterRoles, role);
  EXPECT_THAT(kube::Run(io_, Uninstall(api_, clock_, objects_, clock_.Now() + 5s)),
              kube::FailsWith(Code::kDeadlineExceeded, HasSubstr("ClusterRole reader")));
}

}  // namespace
}  // namespace deploy

// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/openshift_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr kube::Resource kImages{"config.openshift.io", "v1", "images", "Image", false};
constexpr kube::Resource kDigestMirrors{"config.openshift.io", "v1", "imagedigestmirrorsets",
                                        "ImageDigestMirrorSet", false};

class OpenShiftObjectsTest : public ::testing::Test {
 protected:
  void CreateImageConfig() {
    Json sources = {{"blockedRegistries", {"bad.io"}}, {"allowedRegistries", {"good.io"}}};
    api_.CreateJson(
        kImages,
        {{"apiVersion", "config.openshift.io/v1"},
         {"kind", "Image"},
         {"metadata", {{"name", "cluster"}}},
         {"spec", {{"registrySources", sources}, {"additionalTrustedCA", {{"name", "cas"}}}}}});
  }

  static kube::core::ConfigMap MakeMap(const std::string& ns, const std::string& name) {
    kube::core::ConfigMap map;
    map.mutable_metadata()->set_namespace_(ns);
    map.mutable_metadata()->set_name(name);
    return map;
  }
  void CreateTrustedCa() {
    kube::core::ConfigMap map = MakeMap(kOpenShiftConfigNamespace, "cas");
    (*map.mutable_data())["r.io..5000"] = "one";
    (*map.mutable_data())["s.io"] = "two";
    api_.Create(map);
  }
  void CreateMirrors() {
    Json mirror = {{"source", "quay.io"}, {"mirrors", {"mirror.io/quay"}}};
    api_.CreateJson(kDigestMirrors, {{"apiVersion", "config.openshift.io/v1"},
                                     {"kind", "ImageDigestMirrorSet"},
                                     {"metadata", {{"name", "quay"}}},
                                     {"spec", {{"imageDigestMirrors", Json::array({mirror})}}}});
  }

  kube::asio::io_context io_;
  kube::FakeApiServer api_;
  OpenShiftObjects objects_{api_};
};

TEST_F(OpenShiftObjectsTest, OtherClustersHaveNoConfiguration) {
  EXPECT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  EXPECT_EQ(objects_.config(), OpenShiftConfig());
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

TEST_F(OpenShiftObjectsTest, WithoutTheApiGroupAMissingPermissionIsNoError) {
  api_.FailNext(Error::PermissionDenied("no"), "images/cluster");
  api_.FailNext(Error::NotFound("no such group"), "/apis/config.openshift.io");
  EXPECT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  api_.FailNext(Error::PermissionDenied("no"), "images/cluster");
  api_.FailNext(Error::Unavailable("503"), "/apis/config.openshift.io");
  EXPECT_THAT(kube::Run(io_, objects_.Read()), FailsWith(Code::kPermissionDenied));
}

TEST_F(OpenShiftObjectsTest, ReadsAllObjects) {
  CreateImageConfig();
  CreateMirrors();
  CreateTrustedCa();
  ASSERT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  const OpenShiftConfig& config = objects_.config();
  EXPECT_TRUE(config.present);
  EXPECT_THAT(config.rules.blocked, ElementsAre("bad.io"));
  EXPECT_THAT(config.rules.allowed, ElementsAre("good.io"));
  ASSERT_EQ(config.rules.mirrors.size(), 1u);
  EXPECT_THAT(config.rules.mirrors[0].mirrors, ElementsAre("mirror.io/quay"));
  EXPECT_EQ(config.certificates.at("r.io:5000").ca_pem, "one");
  EXPECT_EQ(config.certificates.at("s.io").ca_pem, "two");
}

TEST_F(OpenShiftObjectsTest, AFailedReadKeepsTheConfiguration) {
  CreateImageConfig();
  ASSERT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  OpenShiftConfig before = objects_.config();
  api_.FailNext(Error::PermissionDenied("no"), "imagetagmirrorsets");
  EXPECT_THAT(kube::Run(io_, objects_.Read()), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(objects_.config(), before);
}

TEST_F(OpenShiftObjectsTest, CertificatesOfTheImageRegistryAreTrustedForTheRegistriesThatTheyName) {
  CreateImageConfig();
  CreateTrustedCa();
  kube::core::ConfigMap map = MakeMap("openshift-image-registry", "image-registry-certificates");
  (*map.mutable_data())["image-registry.openshift-image-registry.svc..5000"] = "service";
  (*map.mutable_data())["r.io..5000"] = "three";
  (*map.mutable_data())["s.io"] = "two";  // copied from additionalTrustedCA
  api_.Create(map);
  ASSERT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  const inspection::HostCertificates& certificates = objects_.config().certificates;
  EXPECT_EQ(certificates.size(), 3u);
  EXPECT_EQ(certificates.at("image-registry.openshift-image-registry.svc:5000").ca_pem, "service");
  EXPECT_EQ(certificates.at("r.io:5000").ca_pem, "one\nthree");
  EXPECT_EQ(certificates.at("s.io").ca_pem, "two");
}

TEST_F(OpenShiftObjectsTest, UnreadableCertificatesLeaveTheRestInUse) {
  CreateImageConfig();
  CreateTrustedCa();
  CreateMirrors();
  for (const char* map : {"configmaps/cas", "configmaps/image-registry-certificates"}) {
    OpenShiftObjects objects(api_);
    api_.FailNext(Error::PermissionDenied("no"), map);
    EXPECT_THAT(kube::Run(io_, objects.Read()), FailsWith(Code::kPermissionDenied));
    EXPECT_TRUE(objects.config().present) << "the pull secret of the cluster is used";
    EXPECT_THAT(objects.config().rules.blocked, ElementsAre("bad.io"));
    EXPECT_EQ(objects.config().rules.mirrors.size(), 1u);
  }
}

TEST_F(OpenShiftObjectsTest, WhatCannotBeReadKeepsItsContentsAndTheRestIsRead) {
  CreateImageConfig();
  CreateTrustedCa();
  ASSERT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  CreateMirrors();
  api_.FailNext(Error::PermissionDenied("no"), "configmaps/cas");
  EXPECT_THAT(kube::Run(io_, objects_.Read()), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(objects_.config().certificates.size(), 2u);
  EXPECT_EQ(objects_.config().rules.mirrors.size(), 1u);
  api_.DeleteJson(kDigestMirrors, {"", "quay"});
  api_.FailNext(Error::PermissionDenied("no"), "images/cluster");
  api_.FailNext(Error::Unavailable("503"), "/apis/config.openshift.io");
  EXPECT_THAT(kube::Run(io_, objects_.Read()), FailsWith(Code::kPermissionDenied));
  EXPECT_TRUE(objects_.config().present);
  EXPECT_THAT(objects_.config().rules.blocked, ElementsAre("bad.io"));
  EXPECT_EQ(objects_.config().certificates.size(), 2u);
  EXPECT_THAT(objects_.config().rules.mirrors, IsEmpty());
}

TEST_F(OpenShiftObjectsTest, CertificatesThatAreTooLargeAreNotUsed) {
  CreateImageConfig();
  CreateTrustedCa();
  ASSERT_THAT(kube::Run(io_, objects_.Read()), IsOk());
  OpenShiftConfig before = objects_.config();
  kube::core::ConfigMap map = MakeMap("openshift-image-registry", "image-registry-certificates");
  (*map.mutable_data())["r.io"] = std::string(kMaxRegistryCertificateBytes, 'x');
  api_.Create(map);
  kube::Result<> read = kube::Run(io_, objects_.Read());
  EXPECT_THAT(read, FailsWith(Code::kInvalid));
  EXPECT_THAT(read.error().message(), HasSubstr("1 MiB"));
  EXPECT_EQ(objects_.config(), before);
}

}  // namespace
}  // namespace cluster_controller

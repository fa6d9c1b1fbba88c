// SPDX-License-Identifier: Apache-2.0
// spec.certificates: what the operator asks the providers for, and what the status says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/crypto/certificates.h"
#include "operator/certificates/provider.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::core::ConfigMap;
using kube::core::Secret;
using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kServices[] = {std::string(api::kOperatorServiceName),
                                 std::string(api::kWebhookName), std::string(api::kControllerName)};
constexpr char kCondition[] = "CertificatesProvided";

class CertificateProviderTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.RefreshCertificate();
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }
  void Use(Json certificates) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["certificates"] = std::move(certificates);
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  }
  void UseCertManager() {
    Use({{"provider", "CertManager"}, {"issuerRef", {{"name", "corporate"}}}});
  }
  // Acts as a provider. Unless `name` is empty, the certificate is for `name` instead of the
  // Service.
  void Issue(std::string_view provider, const std::string& service, bool ca_crt,
             const std::string& name = "") {
    std::string dns_name = name.empty() ? service + ".ops.svc" : name;
    kube::KeyPair pair = *kube::NewServingCertificate(authority_, {dns_name}, 24h, h_.clock);
    Secret secret;
    secret.mutable_metadata()->set_namespace_("ops");
    secret.mutable_metadata()->set_name(ProvidedSecretName(provider, service));
    (*secret.mutable_data())["tls.crt"] = pair.certificate_pem;
    (*secret.mutable_data())["tls.key"] = pair.private_key_pem;
    if (ca_crt) (*secret.mutable_data())["ca.crt"] = authority_.certificate_pem;
    kube::ObjectKey key{"ops", secret.metadata().name()};
    h_.api.Get<Secret>(key) ? h_.api.Update(secret) : h_.api.Create(secret);
  }
  bool Becomes(const std::string& condition) {
    return h_.Await([&] {
      h_.RefreshCertificate();
      return h_.ClusterCondition(kCondition) == condition;
    });
  }
  bool ServedByProvider(const std::string& service) {
    return kube::SignedBy(h_.api.Get<Secret>({"ops", service})->data().at("tls.crt"),
                          authority_.certificate_pem);
  }
  bool Requested(const std::string& service) {
    return h_.Exists(kCertManagerCertificates, {"ops", ProvidedSecretName(kCertManager, service)});
  }

  Harness h_;
  kube::KeyPair authority_ = *kube::NewCertificateAuthority("corporate", 1000h, h_.clock);
};

TEST_F(CertificateProviderTest, CertManagerIssuesForAllComponentsOfTheCluster) {
  EXPECT_EQ(h_.ClusterCondition(kCondition), "none");
  UseCertManager();
  ASSERT_TRUE(Becomes("False CertManagerNotReady"));
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("does not exist"));
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
  for (const std::string& service : kServices) {
    ASSERT_TRUE(Requested(service)) << service;
    std::string name = ProvidedSecretName(kCertManager, service);
    Json spec = (*h_.api.GetJson(kCertManagerCertificates, {"ops", name}))["spec"];
    EXPECT_EQ(spec["secretName"], name);
    EXPECT_EQ(spec["dnsNames"][0], service + ".ops.svc");
    EXPECT_EQ(spec["issuerRef"],
              (Json{{"name", "corporate"}, {"kind", "Issuer"}, {"group", "cert-manager.io"}}));
    EXPECT_EQ(spec["duration"], "7776000s");
    Issue(kCertManager, service, /*ca_crt=*/true);
  }
  ASSERT_TRUE(Becomes("True CertManagerReady"));
  for (const std::string& service : kServices) EXPECT_TRUE(ServedByProvider(service)) << service;

  // I6: a namespace's webhook is not the provider's.
  ASSERT_TRUE(h_.BringUp("shop"));
  Secret of_shard = *h_.api.Get<Secret>({"shop", std::string(api::kShardWebhookName)});
  EXPECT_FALSE(kube::SignedBy(of_shard.data().at("tls.crt"), authority_.certificate_pem));

  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"].erase("certificates");
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  ASSERT_TRUE(Becomes("none"));
  for (const std::string& service : kServices) {
    EXPECT_FALSE(Requested(service)) << service;
    EXPECT_FALSE(h_.SecretExists({"ops", ProvidedSecretName(kCertManager, service)})) << service;
    EXPECT_FALSE(ServedByProvider(service)) << service;
  }
}

TEST_F(CertificateProviderTest, WhatCertManagerIssuesIsChecked) {
  UseCertManager();
  ASSERT_TRUE(Becomes("False CertManagerNotReady"));
  for (const std::string& service : kServices) Issue(kCertManager, service, /*ca_crt=*/true);
  Issue(kCertManager, kServices[1], /*ca_crt=*/false);
  h_.Pass(20s);
  EXPECT_EQ(h_.ClusterCondition(kCondition), "False CertManagerNotReady");
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("has no authorities"));
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("Remedy: "));
  Issue(kCertManager, kServices[1], /*ca_crt=*/true, "pod-placement-web-hook.shop.svc");
  h_.Pass(20s);
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("have not signed for"));
  EXPECT_FALSE(ServedByProvider(kServices[1]));
  Issue(kCertManager, kServices[1], /*ca_crt=*/true);
  EXPECT_TRUE(Becomes("True CertManagerReady"));
}

TEST_F(CertificateProviderTest, AMissingCertManagerIsToldAndHarmsNothing) {
  // The status of the first reconcile starts another one.
  h_.api.FailNext(Error::PermissionDenied("certificates is forbidden"), "cert-manager.io", 2);
  h_.api.FailNext(Error::NotFound("404 page not found"), "cert-manager.io", 6);
  UseCertManager();
  ASSERT_TRUE(Becomes("False CertManagerRightsMissing"));
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("the option cert-manager"));
  ASSERT_TRUE(Becomes("False CertManagerNotInstalled"));
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "False AsExpected");
}

TEST_F(CertificateProviderTest, TheTeardownRemovesWhatCertManagerWasAskedFor) {
  UseCertManager();
  ASSERT_TRUE(Becomes("False CertManagerNotReady"));
  for (const std::string& service : kServices) Issue(kCertManager, service, /*ca_crt=*/true);
  // Without the right to delete them, they must not hold the teardown.
  h_.api.FailNext(Error::PermissionDenied("no"), "DELETE /apis/cert-manager.io", 1);
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] {
    return h_.ClusterRemoved() && !h_.Exists(Harness::kClusterConfigs, {"", "cluster"});
  }));
  EXPECT_FALSE(Requested(kServices[1]));
  EXPECT_FALSE(Requested(kServices[2]));
  for (const std::string& service : kServices)
    EXPECT_FALSE(h_.SecretExists({"ops", ProvidedSecretName(kCertManager, service)})) << service;
}

TEST_F(CertificateProviderTest, ServiceCaIssuesForAnnotatedServices) {
  Use({{"provider", "ServiceCA"}});
  ASSERT_TRUE(Becomes("False ServiceCANotReady"));
  EXPECT_THAT(h_.ClusterMessage(kCondition), HasSubstr("the option openshift"));
  for (const std::string& service : kServices) {
    if (service != api::kOperatorServiceName) {
      Json annotations =
          (*h_.api.GetJson(kube::kServices, {"ops", service}))["metadata"]["annotations"];
      EXPECT_EQ(annotations["service.beta.openshift.io/serving-cert-secret-name"],
                service + "-service-ca");
    }
    Issue(kServiceCa, service, /*ca_crt=*/false);
  }
  ASSERT_TRUE(h_.Await([&] {
    return h_.ClusterMessage(kCondition).find("has no authorities") != std::string::npos;
  }));
  ConfigMap bundle;
  bundle.mutable_metadata()->set_namespace_("ops");
  bundle.mutable_metadata()->set_name("service-ca");
  (*bundle.mutable_data())["service-ca.crt"] = authority_.certificate_pem;
  h_.api.Create(bundle);
  ASSERT_TRUE(Becomes("True ServiceCAReady"));
  for (const std::string& service : kServices) EXPECT_TRUE(ServedByProvider(service)) << service;
}

}  // namespace
}  // namespace operator_

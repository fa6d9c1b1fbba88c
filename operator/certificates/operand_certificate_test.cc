// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/operand_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "kube/base/base64.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using namespace std::chrono_literals;
using kube::core::Secret;
using testing::ElementsAre;

const kube::ObjectKey kAuthority{"ops", std::string(kClusterAuthorityName)};
const kube::ObjectKey kServing{"ops", "x-web-hook"};

OperandOptions Operands() {
  OperandOptions options;
  options.ns = "ops";
  options.certificate_validity = 90 * 24h;
  return options;
}

class OperandCertificateTest : public testing::Test {
 protected:
  void Ensure() { EXPECT_THAT(kube::Run(io_, certificate_.Ensure("test")), kube::IsOk()); }
  // Without a call of the API server?
  bool EnsuresSilently() {
    size_t calls = api_.calls().size();
    Ensure();
    return api_.calls().size() == calls;
  }
  std::string Data(const char* name) {
    return api_.Get<Secret>(kServing).value_or(Secret()).data().at(name);
  }
  // Makes the API server trust the bundle, in the configuration "x".
  void Configure() {
    kube::Json webhook = {
        {"name", "w"},
        {"clientConfig", {{"caBundle", kube::Base64Encode(certificate_.ca_bundle_pem())}}}};
    kube::Json configuration = {{"kind", "MutatingWebhookConfiguration"},
                                {"metadata", {{"name", "x"}}}};
    configuration["webhooks"] = kube::Json::array({std::move(webhook)});
    const auto& kind = kube::kMutatingWebhookConfigurations;
    api_.GetJson(kind, {"", "x"}) ? api_.UpdateJson(kind, configuration)
                                  : api_.CreateJson(kind, configuration);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  OperandCertificate certificate_{api_,
                                  clock_,
                                  Operands(),
                                  {.name = kServing.name,
                                   .configuration = {kube::kMutatingWebhookConfigurations, "x"},
                                   .check = 60s,
                                   .recheck = 10s}};
};

TEST_F(OperandCertificateTest, IsIssuedByTheClustersAuthorityForTheService) {
  Ensure();
  EXPECT_TRUE(kube::SignedBy(Data("tls.crt"), certificate_.ca_bundle_pem()));
  EXPECT_EQ(api_.Get<Secret>(kAuthority)->data().at("tls.crt"), certificate_.ca_bundle_pem());
  EXPECT_THAT(*kube::DnsNames(Data("tls.crt")), ElementsAre("x-web-hook.ops.svc", "x-web-hook"));
  EXPECT_EQ(Data("ca.crt"), certificate_.ca_bundle_pem()) << "for the ServiceMonitor";
  EXPECT_FALSE(certificate_.pending());
}

TEST_F(OperandCertificateTest, IsCheckedAtIntervals) {
  Ensure();
  EXPECT_TRUE(EnsuresSilently());
  clock_.Advance(60s - 1ms);
  EXPECT_TRUE(EnsuresSilently());
  clock_.Advance(1ms);
  EXPECT_FALSE(EnsuresSilently());
  EXPECT_TRUE(EnsuresSilently());
  // Nothing of it may be left then.
  certificate_.Forget();
  EXPECT_EQ(certificate_.ca_bundle_pem(), "");
  EXPECT_FALSE(EnsuresSilently());
}

TEST_F(OperandCertificateTest, IsRenewedAfterTwoThirdsOfItsValidity) {
  Ensure();
  std::string first = Data("tls.crt");
  clock_.Advance(59 * 24h);
  Ensure();
  EXPECT_EQ(Data("tls.crt"), first);
  clock_.Advance(2 * 24h);
  Ensure();
  EXPECT_NE(Data("tls.crt"), first);
}

TEST_F(OperandCertificateTest, IsCheckedMoreOftenWhileANewAuthorityIsNotTrusted) {
  Ensure();
  Configure();
  std::string first = Data("tls.crt");
  api_.Delete<Secret>(kAuthority);
  clock_.Advance(60s);
  Ensure();
  EXPECT_TRUE(certificate_.pending());
  EXPECT_EQ(Data("tls.crt"), first);
  Configure();
  clock_.Advance(10s - 1ms);
  EXPECT_TRUE(EnsuresSilently());
  clock_.Advance(1s);
  Ensure();
  EXPECT_FALSE(certificate_.pending());
  EXPECT_NE(Data("tls.crt"), first);
}

TEST_F(OperandCertificateTest, AFailureIsTriedAgainAtOnce) {
  api_.FailNext(kube::Error::Unavailable("503"));
  EXPECT_THAT(kube::Run(io_, certificate_.Ensure("test")),
              kube::FailsWith(kube::Code::kUnavailable));
  EXPECT_EQ(certificate_.ca_bundle_pem(), "");
  Ensure();
  EXPECT_NE(certificate_.ca_bundle_pem(), "");
}

}  // namespace
}  // namespace operator_

// SPDX-License-Identifier: Apache-2.0
// AmazonExchange: ECR's password for a region, by IAM roles for service accounts:
// sts:AssumeRoleWithWebIdentity with the token of this pod, then ecr:GetAuthorizationToken, signed
// with what STS has issued. Source: AWS STS and Amazon ECR API references.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "inspection/cloud/aws_signature.h"
#include "inspection/cloud/cloud_http.h"
#include "inspection/cloud/cloud_identity.h"
#include "inspection/cloud/token_exchange.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

class AmazonExchange final : public TokenExchange {
 public:
  // `clock` outlives it.
  AmazonExchange(std::shared_ptr<CloudHttp> http, kube::Clock& clock, const CloudIdentity& identity)
      : http_(std::move(http)),
        clock_(clock),
        role_(identity.aws_role),
        token_file_(identity.aws_token_file),
        region_(identity.aws_region) {}

  // TokenExchange
  std::string ScopeOf(const CloudRegistry& registry) const override {
    return "ECR in " + registry.region;
  }
  kube::Async<ExchangedLogin> Exchange(CloudRegistry registry, kube::TimePoint deadline) override;

 private:
  kube::Async<AwsCredentials> AssumeRole(const CloudRegistry& registry, kube::TimePoint deadline);

  std::shared_ptr<CloudHttp> http_;
  kube::Clock& clock_;
  std::string role_;
  std::string token_file_;
  std::string region_;
};

// The credentials in STS's answer, XML. kInvalid without.
kube::Result<AwsCredentials> ParseAssumedRole(std::string_view xml);
// The user and password in ECR's answer to GetAuthorizationToken. kInvalid without.
kube::Result<ExchangedLogin> ParseEcrLogin(std::string_view body, kube::WallTime now);

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
// AwsSignature: signs requests to services of Amazon.
// Source: AWS Signature Version 4 (docs.aws.amazon.com, "Create a signed AWS API request").
#pragma once

#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/http/pool.h"

namespace inspection {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // may be empty
};

struct AwsScope {
  std::string region;
  std::string service;
};

// "20150830T123600Z"
std::string AwsDate(kube::WallTime time);

// The Authorization header of a request to the path "/" of `host`, without a query. Signs the host,
// all headers of `request`, which are each there once, and its body; X-Amz-Date must be `date`.
std::string AwsAuthorization(const AwsCredentials& credentials, const AwsScope& scope,
                             std::string_view host, std::string_view date,
                             const kube::HttpRequest& request);

// Adds the headers X-Amz-Date, X-Amz-Security-Token and Authorization.
void SignAwsRequest(const AwsCredentials& credentials, const AwsScope& scope, std::string_view host,
                    kube::WallTime now, kube::HttpRequest& request);

}  // namespace inspection

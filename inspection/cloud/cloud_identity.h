// SPDX-License-Identifier: Apache-2.0
// CloudIdentity: who this process is for a cloud, from the environment that the cloud's webhook
// gives its pod: EKS (IAM roles for service accounts), GKE (its metadata server) and AKS (Microsoft
// Entra Workload ID).
#pragma once

#include <functional>
#include <string>

namespace inspection {

struct CloudIdentity {
  std::string aws_role;          // AWS_ROLE_ARN
  std::string aws_token_file;    // AWS_WEB_IDENTITY_TOKEN_FILE
  std::string aws_region;        // AWS_REGION, else AWS_DEFAULT_REGION
  std::string azure_client;      // AZURE_CLIENT_ID
  std::string azure_tenant;      // AZURE_TENANT_ID
  std::string azure_token_file;  // AZURE_FEDERATED_TOKEN_FILE
  std::string azure_authority = "https://login.microsoftonline.com/";  // AZURE_AUTHORITY_HOST
  // GCE_METADATA_HOST. The address of metadata.google.internal, as in Google's own libraries: with
  // the search domains of a pod, that name can be one of a Service in the namespace "internal".
  std::string google_metadata = "169.254.169.254";

  static CloudIdentity FromEnvironment();
  // `lookup` replaces std::getenv in tests.
  static CloudIdentity From(const std::function<const char*(const char*)>& lookup);
};

}  // namespace inspection

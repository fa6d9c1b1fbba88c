// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_identity.h"

#include <cstdlib>

namespace inspection {

CloudIdentity CloudIdentity::FromEnvironment() {
  return From([](const char* name) -> const char* { return std::getenv(name); });
}

CloudIdentity CloudIdentity::From(const std::function<const char*(const char*)>& lookup) {
  CloudIdentity identity;
  auto read = [&lookup](const char* name, std::string& value) {
    const char* found = lookup(name);
    if (found != nullptr && *found != '\0') value = found;
  };
  read("AWS_ROLE_ARN", identity.aws_role);
  read("AWS_WEB_IDENTITY_TOKEN_FILE", identity.aws_token_file);
  read("AWS_DEFAULT_REGION", identity.aws_region);
  read("AWS_REGION", identity.aws_region);
  read("AZURE_CLIENT_ID", identity.azure_client);
  read("AZURE_TENANT_ID", identity.azure_tenant);
  read("AZURE_FEDERATED_TOKEN_FILE", identity.azure_token_file);
  read("AZURE_AUTHORITY_HOST", identity.azure_authority);
  read("GCE_METADATA_HOST", identity.google_metadata);
  return identity;
}

}  // namespace inspection

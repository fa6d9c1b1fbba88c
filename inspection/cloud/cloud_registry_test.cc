// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;

TEST(CloudRegistryTest, OnlyNamesThatACloudServesAreItsRegistries) {
  struct Row {
    const char* host;
    std::optional<Cloud> cloud;
    const char* region = "";
    const char* domain = "";
  };
  for (const Row& row : {
           Row{"123456789012.dkr.ecr.us-east-1.amazonaws.com", Cloud::kAmazon, "us-east-1",
               "amazonaws.com"},
           Row{"123456789012.dkr.ecr.us-gov-west-1.amazonaws.com", Cloud::kAmazon, "us-gov-west-1",
               "amazonaws.com"},
           Row{"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", Cloud::kAmazon, "cn-north-1",
               "amazonaws.com.cn"},
           // Another partition's domain.
           Row{"123456789012.dkr.ecr.cn-north-1.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-1.amazonaws.com.cn", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-1.amazonaws.com.evil.io", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-1.evilamazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-1.amazonaws.com:8443", std::nullopt},
           Row{"123456789012.dkr.ecr.evil.us-east-1.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr..amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.east.amazonaws.com", std::nullopt},
           // Names of other services, and of nothing.
           Row{"123456789012.dkr.ecr.s3-us-west-2.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-1.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us--1.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east2-1.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-11.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.us-east-b.amazonaws.com", std::nullopt},
           Row{"123456789012.dkr.ecr.use-east-1.amazonaws.com", std::nullopt},
           Row{"12345.dkr.ecr.us-east-1.amazonaws.com", std::nullopt},
           Row{"bucket.s3.us-east-1.amazonaws.com", std::nullopt},
           Row{"europe-west1-docker.pkg.dev", Cloud::kGoogle},
           Row{"us-docker.pkg.dev", Cloud::kGoogle},
           Row{"gcr.io", Cloud::kGoogle},
           Row{"eu.gcr.io", Cloud::kGoogle},
           Row{"evil.gcr.io", std::nullopt},
           Row{"-docker.pkg.dev", std::nullopt},
           Row{"us-npm.pkg.dev", std::nullopt},
           Row{"evil.us-docker.pkg.dev", std::nullopt},
           Row{"us-docker.pkg.dev.evil.io", std::nullopt},
           Row{"team.azurecr.io", Cloud::kAzure},
           Row{"team-abcd1234.azurecr.io", Cloud::kAzure},
           Row{"team.azurecr.io:443", std::nullopt},
           Row{"azurecr.io", std::nullopt},
           Row{"team.eastus.data.azurecr.io", std::nullopt},
           Row{"team.azurecr.io.evil.io", std::nullopt},
           Row{"teamazurecr.io", std::nullopt},
           Row{"quay.io", std::nullopt},
           Row{"", std::nullopt},
       }) {
    std::optional<CloudRegistry> registry = CloudRegistryOf(row.host);
    ASSERT_EQ(registry.has_value(), row.cloud.has_value()) << row.host;
    if (!registry) continue;
    EXPECT_EQ(registry->cloud, *row.cloud) << row.host;
    EXPECT_EQ(registry->host, row.host);
    EXPECT_EQ(registry->region, row.region);
    EXPECT_EQ(registry->domain, row.domain);
  }
}

TEST(CloudRegistriesTest, APatternAllowsRegistriesOfACloud) {
  auto registries = CloudRegistries::Parse("*.dkr.ecr.eu-west-1.amazonaws.com,team.azurecr.io");
  ASSERT_THAT(registries, IsOk());
  EXPECT_TRUE(registries->Find("123456789012.dkr.ecr.eu-west-1.amazonaws.com"));
  EXPECT_FALSE(registries->Find("123456789012.dkr.ecr.us-east-1.amazonaws.com"));
  EXPECT_FALSE(registries->Find("x.dkr.ecr.eu-west-1.amazonaws.com"));
  EXPECT_TRUE(registries->Find("team.azurecr.io"));
  EXPECT_FALSE(registries->Find("other.azurecr.io"));
  EXPECT_FALSE(registries->Find("gcr.io"));
  EXPECT_TRUE(registries->Names("team.azurecr.io"));
  EXPECT_FALSE(registries->Names("other.azurecr.io"));
  EXPECT_FALSE(registries->Names("123456789012.dkr.ecr.eu-west-1.amazonaws.com"));
  EXPECT_FALSE(registries->empty());
  EXPECT_TRUE(CloudRegistries::Parse("")->empty());
}

TEST(CloudRegistriesTest, OtherPatternsAreRefused) {
  for (const char* text : {"*", "*.io", "quay.io", "*.azurecr.*", "*.dkr.ecr.*.amazonaws.*",
                           ".azurecr.io", "gcr.io,registry.example.com", "evilgcr.io",
                           "Team.azurecr.io", "*.DKR.ecr.*.amazonaws.com", "te am.azurecr.io"}) {
    EXPECT_THAT(CloudRegistries::Parse(text), FailsWith(Code::kInvalid)) << text;
  }
  std::string many;
  for (size_t i = 0; i <= CloudRegistries::kMaxPatterns; ++i)
    many += "r" + std::to_string(i) + ".azurecr.io,";
  EXPECT_THAT(CloudRegistries::Parse(many),
              FailsWith(Code::kInvalid, ::testing::HasSubstr("more than 64 patterns")));
}

}  // namespace
}  // namespace inspection

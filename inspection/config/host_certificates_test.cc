// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/host_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/testing/test_folder.h"
#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HostCertificatesTest : public TestFolder {};

TEST_F(HostCertificatesTest, AFolderHasAuthoritiesAndAClientCertificate) {
  Write("a/r.io:5000/one.crt", "1");
  Write("a/r.io:5000/two.crt", "2");
  Write("a/r.io:5000/client.cert", "cert");
  Write("a/r.io:5000/client.key", "key");
  Write("a/r.io:5000/README", "of no concern");
  auto read = ReadCertsDirectories({root_ + "/a"});
  ASSERT_THAT(read, IsOk());
  HostTls wanted{.ca_pem = "1\n2\n", .cert_pem = "cert", .key_pem = "key"};
  EXPECT_EQ((*read)["r.io:5000"], wanted) << (*read)["r.io:5000"].problem;
}

TEST_F(HostCertificatesTest, TheFirstTreeWithARegistryIsUsed) {
  Write("a/r.io/ca.crt", "first");
  Write("b/r.io/ca.crt", "second");
  Write("b/other.io/ca.crt", "other");
  auto read = ReadCertsDirectories({root_ + "/a", root_ + "/absent", root_ + "/b"});
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ((*read)["r.io"].ca_pem, "first\n");
  EXPECT_EQ((*read)["other.io"].ca_pem, "other\n");
}

TEST_F(HostCertificatesTest, AMissingKeyIsAProblemOfThatRegistry) {
  Write("a/cert.io/client.cert", "cert");
  Write("a/key.io/client.key", "key");
  Write("a/good.io/ca.crt", "good");
  auto read = ReadCertsDirectories({root_ + "/a"});
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT((*read)["cert.io"].problem, HasSubstr("client.cert has no client.key"));
  EXPECT_THAT((*read)["key.io"].problem, HasSubstr("client.key has no client.cert"));
  EXPECT_THAT((*read)["good.io"].problem, IsEmpty());
}

TEST_F(HostCertificatesTest, AFileInPlaceOfATreeIsRefused) {
  Write("file", "");
  EXPECT_THAT(ReadCertsDirectories({root_ + "/file"}),
              FailsWith(Code::kInvalid, HasSubstr("/file")));
}

}  // namespace
}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/digest.h"

#include <gtest/gtest.h>

namespace inspection {
namespace {

// The digests of "abc", from FIPS 180-4.
constexpr char kSha256[] =
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kSha512[] =
    "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";

TEST(DigestTest, Sha256OfAbc) { EXPECT_EQ(Sha256Digest("abc"), kSha256); }

TEST(DigestTest, VerifyAcceptsOnlyTheRightContent) {
  EXPECT_TRUE(VerifyDigest(kSha256, "abc"));
  EXPECT_TRUE(VerifyDigest(kSha512, "abc"));
  EXPECT_TRUE(FailedWith(VerifyDigest(kSha256, "abd"), kube::Code::kInvalid));
  EXPECT_TRUE(FailedWith(VerifyDigest(kSha512, ""), kube::Code::kInvalid));
  EXPECT_TRUE(FailedWith(VerifyDigest("md5:900150983cd24fb0d6963f7d28e17f72", "abc"),
                         kube::Code::kInvalid));
}

TEST(DigestTest, InPieces) {
  for (const char* wanted : {kSha256, kSha512}) {
    DigestVerifier verifier(wanted);
    verifier.Add("a");
    verifier.Add("");
    verifier.Add("bc");
    EXPECT_TRUE(verifier.Verify());
    DigestVerifier other(wanted);
    other.Add("ab");
    EXPECT_TRUE(FailedWith(other.Verify(), kube::Code::kInvalid));
  }
  DigestVerifier unknown("md5:900150983cd24fb0d6963f7d28e17f72");
  unknown.Add("abc");
  EXPECT_TRUE(FailedWith(unknown.Verify(), kube::Code::kInvalid));
}

}  // namespace
}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "deploy/manifests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace deploy {
namespace {

using kube::Code;

std::string WriteTemp(const std::string& name, const std::string& text) {
  std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ImageReferenceTest, RefusesAFileWithoutAnImage) {
  EXPECT_TRUE(FailedWith(ReadImageReference(WriteTemp("bad.ref", "NAME=x\n")), Code::kInvalid));
  auto reference = ReadImageReference(
      WriteTemp("good.ref", "NAME=p/x\nTAG=0123\nDIGEST=sha256:0123\nARCHITECTURES=amd64,arm64\n"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->digest, "sha256:0123");
  EXPECT_EQ(reference->architectures, "amd64,arm64");
}

}  // namespace
}  // namespace deploy

// SPDX-License-Identifier: Apache-2.0
// Mounts a real tmpfs, where that is allowed: as root, or in a user namespace.
#include "e2e/chaos/stage/disk.h"

#include <gtest/gtest.h>

#include <fstream>

#include "e2e/cluster_harness/own_network.h"

namespace e2e {
namespace {

bool CanWrite(const std::string& path) {
  std::ofstream out(path, std::ios::trunc);
  out << std::string(8192, 'x') << std::flush;
  return out.good();
}

TEST(DiskTest, AFullDiskTakesNothingUntilItIsReleased) {
  kube::Result<> network = EnterOwnNetwork();
  if (!network) GTEST_SKIP() << "this user may make no namespaces: " << network.error();
  kube::Result<> mounts = EnterOwnMounts();
  ASSERT_TRUE(mounts) << mounts.error();
  const std::string folder = testing::TempDir() + "/disk";
  auto disk = Disk::Mount(folder, 8 << 20);
  ASSERT_TRUE(disk) << disk.error();

  EXPECT_TRUE(CanWrite(folder + "/before"));
  kube::Result<> filled = (*disk)->Fill();
  ASSERT_TRUE(filled) << filled.error();
  EXPECT_FALSE(CanWrite(folder + "/full"));
  (*disk)->Release();
  EXPECT_TRUE(CanWrite(folder + "/after"));
  EXPECT_FALSE(CanWrite(folder + "/missing/file"));
}

}  // namespace
}  // namespace e2e

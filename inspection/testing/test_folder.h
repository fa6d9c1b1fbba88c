// SPDX-License-Identifier: Apache-2.0
// TestFolder: a fixture with a folder for files of the test.
//
//   class NodeFilesTest : public TestFolder {};
//   TEST_F(NodeFilesTest, ...) {
//     Write("certs.d/r.io/ca.crt", "...");            // root_ + "/certs.d/r.io/ca.crt"
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace inspection {

class TestFolder : public ::testing::Test {
 protected:
  TestFolder() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
    std::filesystem::create_directories(root_);
  }

  // Also creates its parent folders; returns the whole path.
  std::string Write(const std::string& path, const std::string& text) {
    std::filesystem::path file(root_ + "/" + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

  std::string root_;
};

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "api/architecture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace api {
namespace {

TEST(ArchitectureTest, NamesAreLowerCaseLettersAndDigits) {
  for (std::string_view name : kKnownArchitectures) EXPECT_TRUE(IsArchitectureName(name)) << name;
  for (const std::string& name : {std::string("sparc64"), std::string("x"), std::string("7"),
                                  std::string(kMaxArchitectureName, 'a')}) {
    EXPECT_TRUE(IsArchitectureName(name)) << name;
    EXPECT_FALSE(IsKnownArchitecture(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("unknown"), std::string("operand"), std::string("ARM64"),
        std::string("x86_64"), std::string("no-supported-arch"), std::string("arm/v7"),
        std::string("arm64 "), std::string("arm\0", 4), std::string("\xc3\xa4"),
        std::string(kMaxArchitectureName + 1, 'a')}) {
    EXPECT_FALSE(IsArchitectureName(name)) << name;
  }
}

// An image could name any label of the operator as its architecture.
TEST(ArchitectureTest, NoLabelOfTheOperatorIsAnArchitecture) {
  std::ifstream file("api/names.h");
  ASSERT_TRUE(file);
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string text = buffer.str();
  const std::regex name(R"re("multiarch\.openshift\.io/([^"]+)")re");
  int names = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at, ++names)
    EXPECT_FALSE(IsArchitectureName((*at)[1].str())) << (*at)[1];
  EXPECT_GE(names, 15);
}

}  // namespace
}  // namespace api

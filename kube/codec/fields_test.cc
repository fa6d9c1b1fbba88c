// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/fields.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/types/core.pb.h"

namespace kube {
namespace {

TEST(FieldsTest, IteratesOverFieldsOfEveryType) {
  core::Event event;
  event.mutable_metadata()->set_name("web.1");
  event.set_reason("Because");
  event.set_count(300);
  std::string bytes = event.SerializeAsString();
  FieldReader fields(bytes);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.number(), 1);
  EXPECT_EQ(fields.bytes(), event.metadata().SerializeAsString());
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.number(), 3);
  EXPECT_EQ(fields.bytes(), "Because");
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.number(), 8);
  EXPECT_EQ(fields.bytes(), "");
  EXPECT_FALSE(fields.Next());
  EXPECT_FALSE(fields.broken());
}

TEST(FieldsTest, EmptyMessagesAndEmptyFieldsAreValid) {
  FieldReader nothing("");
  EXPECT_FALSE(nothing.Next());
  EXPECT_FALSE(nothing.broken());
  FieldReader empty(std::string_view("\x0a\x00", 2));
  ASSERT_TRUE(empty.Next());
  EXPECT_EQ(empty.bytes(), "");
  EXPECT_FALSE(empty.Next());
  EXPECT_FALSE(empty.broken());
}

TEST(FieldsTest, TruncatedAndMalformedMessagesAreBroken) {
  for (std::string_view bytes :
       {std::string_view("\x0a"),
        std::string_view("\x0a\x05"
                         "abcd"),
        std::string_view("\xff\xff"), std::string_view("\x0a\xff\xff\xff\xff\x7f"),
        std::string_view("\x08"), std::string_view("\x0f\x01"), std::string_view("\x00\x01", 2)}) {
    FieldReader fields(bytes);
    while (fields.Next()) {
    }
    EXPECT_TRUE(fields.broken()) << testing::PrintToString(std::string(bytes));
    EXPECT_FALSE(fields.Next()) << "after the first failure too";
  }
}

}  // namespace
}  // namespace kube

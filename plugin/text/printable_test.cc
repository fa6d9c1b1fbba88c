// SPDX-License-Identifier: Apache-2.0
#include "plugin/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "plugin/text/titled.h"

namespace plugin {
namespace {

TEST(PrintableTest, HasNoControlCharacters) {
  EXPECT_EQ(Printable("a\x1b[2Jb\r\nc\x7f"), "a [2Jb  c ");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "2Jb"),
            "a  2Jb");
  EXPECT_EQ(Printable("caf\xc3\xa9 \xc2\xa0 \xe2\x82\xac"), "caf\xc3\xa9 \xc2\xa0 \xe2\x82\xac");
  EXPECT_EQ(Printable("\xc2"), "\xc2");
  EXPECT_EQ(Printable(std::string(9'000, 'a')).size(), 2'000u);
}

TEST(TitledTest, IsOneLine) {
  EXPECT_EQ(Titled("why", "one\ntwo\x1b[31m"), "why       one two [31m\n");
  EXPECT_EQ(Titled("a long title", "text"), "a long title text\n");
}

}  // namespace
}  // namespace plugin

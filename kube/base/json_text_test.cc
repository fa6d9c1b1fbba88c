// SPDX-License-Identifier: Apache-2.0
#include "kube/base/json_text.h"

#include <gtest/gtest.h>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

TEST(JsonTextTest, SurvivesTheRoundTrip) {
  for (std::string_view text :
       {std::string_view(""), std::string_view("plain"), std::string_view("\"quoted\" \\ back"),
        std::string_view("line\nline\ttab\x01\x1f"), std::string_view("nul\0nul", 7),
        std::string_view("größe €500 \xF0\x9F\x98\x80")}) {
    Result<Json> read = ParseJson(JsonString(text));
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->get<std::string>(), text);
  }
}

TEST(JsonTextTest, InvalidUtf8IsReplaced) {
  EXPECT_EQ(JsonString("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  // Overlong, surrogate, beyond Unicode, truncated.
  for (const char* text : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_TRUE(ParseJson(JsonString(text)).has_value()) << JsonString(text);
  }
}

}  // namespace
}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/yaml.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

TEST(YamlTest, ReadsPlainScalarsByType) {
  auto documents =
      ParseYamlDocuments("a: true\nb: 8080\nc: \"8080\"\nd: 1.5\ne: 10m\nf: ~\ng: '*'\nh: 1e\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 1u);
  EXPECT_EQ((*documents)[0],
            MustParseJson(
                R"({"a":true,"b":8080,"c":"8080","d":1.5,"e":"10m","f":null,"g":"*","h":"1e"})"));
}

TEST(YamlTest, SkipsEmptyDocuments) {
  auto documents =
      ParseYamlDocuments("---\n# nothing\n---\nkind: A\n---\nkind: B\nlist: [1, {x: y}]\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[1], MustParseJson(R"({"kind":"B","list":[1,{"x":"y"}]})"));
}

TEST(YamlTest, NamesLineAndColumnOfAnError) {
  auto documents = ParseYamlDocuments("a: [1,\nb: }");
  ASSERT_TRUE(FailedWith(documents, Code::kInvalid));
  EXPECT_NE(documents.error().message().find("line 2"), std::string::npos) << documents.error();
}

TEST(YamlTest, EndlessDocumentsAndAliasBombsAreInvalid) {
  EXPECT_EQ(ParseYamlDocuments("\n,apiVersion: k#be/et.").error().code(), Code::kInvalid);
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    std::string before = std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + before + ", *a" +
            before + "]\n";
  }
  EXPECT_EQ(ParseYamlDocuments(bomb).error().code(), Code::kInvalid);
  EXPECT_EQ(ParseYamlDocuments(std::string(100'000, '[')).error().code(), Code::kInvalid);
  EXPECT_EQ(ParseYamlDocuments("a: &a {b: [1, *a]}").error().code(), Code::kInvalid);
}

TEST(YamlTest, LevelsAreCountedAfterAliasExpansion) {
  auto nested = [](const std::string& inner, size_t levels) {
    return std::string(levels, '[') + inner + std::string(levels, ']');
  };
  std::string inner = "a: &a " + nested("1", 100) + "\n";
  EXPECT_TRUE(ParseYamlDocuments(inner + "b: " + nested("*a", 99)));
  EXPECT_EQ(ParseYamlDocuments(inner + "b: " + nested("*a", 100)).error().code(), Code::kInvalid);
}

TEST(YamlTest, WritesWhatItReads) {
  const Json json = {{"name", "web-0"},
                     {"count", 3},
                     {"negative", -1},
                     {"share", 0.25},
                     {"yes", false},
                     {"nothing", nullptr},
                     {"object", Json::object()},
                     {"list", Json::array()},
                     {"items", {{{"a", "1"}, {"b", "x: y"}}, "no", "~", "", "# x", "- x", "{}"}},
                     {"text", "line\nline\t\"quoted\" ü"},
                     {"image", "r.io/app:1"}};
  const std::string text = ToYaml(json);
  EXPECT_EQ(ParseYamlDocuments(text)->at(0), json) << text;
}

TEST(YamlTest, WritesPlainTextPlainly) {
  EXPECT_EQ(ToYaml({{"a", {{"name", "web-0"}, {"list", {"x", "on", "1"}}, {"none", nullptr}}}}),
            "a:\n"
            "  list:\n"
            "    - x\n"
            "    - \"on\"\n"
            "    - \"1\"\n"
            "  name: web-0\n"
            "  none: null\n");
}

}  // namespace
}  // namespace kube

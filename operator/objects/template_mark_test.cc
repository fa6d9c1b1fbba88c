// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/template_mark.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

using kube::Json;

Json Deployment(const char* image) {
  return {{"metadata", {{"name", "d"}}}, {"spec", {{"replicas", 1}, {"template", {{"x", image}}}}}};
}

TEST(TemplateMarkTest, IsReadAsItWasWritten) {
  for (auto replaced : {TemplateMark::Replaced::kNothing, TemplateMark::Replaced::kBroken,
                        TemplateMark::Replaced::kRunning}) {
    Json deployment = Deployment("a");
    TemplateMark mark{TemplateHash(deployment), replaced};
    SetMark(deployment, mark);
    EXPECT_EQ(MarkOf(deployment), mark) << deployment;
  }
}

TEST(TemplateMarkTest, TheHashIsThatOfTheTemplateAlone) {
  Json scaled = Deployment("a");
  scaled["spec"]["replicas"] = 5;
  SetMark(scaled, {"x", TemplateMark::Replaced::kRunning});
  EXPECT_EQ(TemplateHash(scaled), TemplateHash(Deployment("a")));
  EXPECT_NE(TemplateHash(Deployment("b")), TemplateHash(Deployment("a")));
}

TEST(TemplateMarkTest, AnAnnotationThatSomebodyElseWroteIsNone) {
  for (const Json& value : {Json("5c"), Json("5c frozen"), Json(7), Json(" "), Json()}) {
    Json deployment = Deployment("a");
    deployment["metadata"]["annotations"][std::string(kTemplateAnnotation)] = value;
    EXPECT_EQ(MarkOf(deployment), std::nullopt) << value;
  }
  EXPECT_EQ(MarkOf(Deployment("a")), std::nullopt);
  EXPECT_EQ(MarkOf(*kube::ParseJson(R"({"metadata": {"annotations": []}})")), std::nullopt);
}

TEST(TemplateMarkTest, RemembersWhatTheTemplateReplaced) {
  struct Row {
    const char* name;
    bool exists;
    std::optional<TemplateMark> current;
    bool runs;
    bool replaces;
    TemplateMark::Replaced replaced;
  };
  using enum TemplateMark::Replaced;
  std::string hash = TemplateHash(Deployment("a"));
  const Row rows[] = {
      {"new", false, std::nullopt, false, false, kNothing},
      {"of an operator without marks", true, std::nullopt, true, true, kRunning},
      {"older", true, TemplateMark{"5c", kNothing}, true, true, kRunning},
      {"older and broken", true, TemplateMark{"5c", kRunning}, false, true, kBroken},
      {"current", true, TemplateMark{hash, kRunning}, false, false, kRunning},
      {"current since its creation", true, TemplateMark{hash, kNothing}, true, false, kNothing},
  };
  for (const Row& row : rows) {
    Json deployment = Deployment("a");
    EXPECT_EQ(MarkTemplate(deployment, row.exists, row.current, row.runs), row.replaces)
        << row.name;
    EXPECT_EQ(MarkOf(deployment), (TemplateMark{hash, row.replaced})) << row.name;
  }
}

}  // namespace
}  // namespace operator_

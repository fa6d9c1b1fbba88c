// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/clock.h"
#include "kube/testing/make_pod.h"
#include "kube/types/unstructured.h"
#include "plugin/report/report_html.h"
#include "plugin/report/report_text.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kGiB = 1024.0 * 1024 * 1024;

placement::NodeView Node(const std::string& name, const std::string& architecture) {
  return {.name = name, .labels = {{std::string(api::kArchLabel), architecture}}};
}

PodImage Image(const std::string& name, const std::vector<std::string>& architectures) {
  placement::ImagePlatforms platforms;
  for (const std::string& architecture : architectures)
    platforms.platforms.push_back({"linux", architecture});
  return {name, std::make_shared<const placement::ImagePlatforms>(platforms), ""};
}

MakePod OfDeployment(const std::string& name, const std::string& hash, const std::string& pod) {
  return MakePod(name + "-" + hash + "-" + pod)
      .Namespace("shop")
      .Owner("apps/v1", "ReplicaSet", name + "-" + hash)
      .Label("pod-template-hash", hash);
}

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    builder_.AddNode(Node("intel", "amd64"), {8, 16 * kGiB});
    builder_.AddNode(Node("arm", "arm64"), {4, 8 * kGiB});
  }
  static std::string Describe(const WorkloadLine& line) {
    return line.kind + " " + line.name + ": " + std::string(NameOf(line.fate));
  }

  ReportBuilder builder_{{.architecture = "arm64",
                          .owner_key = "team",
                          .prices = {{"amd64", {0.10, 0.01}}, {"arm64", {0.05, 0.01}}}}};
};

TEST_F(ReportTest, FatesOfWorkloads) {
  const PodImage both = Image("r.io/both:1", {"amd64", "arm64"});
  const PodImage intel = Image("r.io/intel:1", {"amd64"});
  const PodImage unknown{"r.io/unknown:1", nullptr, ""};
  builder_.AddPod(OfDeployment("web", "5d", "a").Node("intel").Label("team", "web"), {1, 2 * kGiB},
                  {both});
  builder_.AddPod(OfDeployment("web", "5d", "b").Node("arm"), {1, 2 * kGiB}, {both});
  builder_.AddPod(OfDeployment("old", "7f", "a").Node("intel"), {2, kGiB}, {both, intel});
  builder_.AddPod(
      OfDeployment("own", "9c", "a").Node("intel").NodeSelector(api::kArchLabel, "amd64"), {0.5, 0},
      {both});
  builder_.AddPod(OfDeployment("new", "1a", "a").Node("intel"), {0.25, 0}, {both, unknown});
  builder_.AddPod(MakePod("kube-proxy").Node("intel").Owner("v1", "Node", "intel"), {0.1, 0},
                  {intel});
  builder_.AddPod(MakePod("ended").Node("intel").Phase("Succeeded"), {9, 0}, {both});
  Report report = builder_.Build();

  std::vector<std::string> lines;
  for (const WorkloadLine& line : report.workloads) lines.push_back(Describe(line));
  EXPECT_THAT(lines, ElementsAre("Deployment web: could run there", "Deployment old: held back",
                                 "Deployment own: asks for another", "Deployment new: not known",
                                 "Node intel: stays"));
  const WorkloadLine& web = report.workloads[0];
  EXPECT_EQ(web.pods, 2u);
  EXPECT_EQ(web.owner, "web");
  EXPECT_EQ(DescribeRunsOn(web), "amd64 1, arm64 1");
  EXPECT_THAT(web.can_run_on, ElementsAre("amd64", "arm64"));
  EXPECT_EQ(DescribeReason(report.workloads[1], "arm64", 9), "r.io/intel:1 is for linux/amd64");
  EXPECT_EQ(DescribeReason(report.workloads[3], "arm64", 9), "r.io/unknown:1 is not known");

  EXPECT_EQ(report.fates[0].pods, 1u);  // runs there
  EXPECT_EQ(report.fates[1].pods, 1u);  // could
  EXPECT_EQ(report.fates[1].requests, (Amount{1, 2 * kGiB}));
  EXPECT_NEAR(*report.cost_now, 730 * (0.10 + 0.02), 1e-6);
  EXPECT_NEAR(*report.cost_there, 730 * (0.05 + 0.02), 1e-6);
  ASSERT_EQ(report.architectures.size(), 2u);
  EXPECT_EQ(report.architectures[0].pods, 5u);
  EXPECT_EQ(report.architectures[0].requested.cpu, 3.85);
}

TEST_F(ReportTest, DaemonSetsThatWouldNotRun) {
  auto agent = [](const char* name) {
    return MakePod(std::string(name) + "-x").Node("intel").Owner("apps/v1", "DaemonSet", name);
  };
  builder_.AddPod(agent("good"), {}, {Image("r.io/both:1", {"amd64", "arm64"})});
  builder_.AddPod(agent("bad"), {}, {Image("r.io/intel:1", {"amd64"})});
  Report report = builder_.Build();
  EXPECT_THAT(report.workloads, IsEmpty());
  ASSERT_EQ(report.daemon_sets.size(), 1u);
  EXPECT_EQ(Describe(report.daemon_sets[0]), "DaemonSet bad: held back");
  EXPECT_EQ(report.fates[2].pods, 0u);
}

// Tenants choose names, how many pods they have, and how many images a pod has.
TEST(ReportBudgetTest, ANamespaceCannotHideTheOthers) {
  constexpr size_t kOfNamespace = 64 * 1024;
  ReportBuilder builder({.architecture = "arm64",
                         .budget = {.in_all = 4 * kOfNamespace, .of_namespace = kOfNamespace}});
  const std::vector<PodImage> images(100, Image("r.io/intel:1", {"amd64"}));
  constexpr size_t kPods = 2'000;
  for (size_t i = 0; i < kPods; ++i)
    builder.AddPod(MakePod("pod-" + std::to_string(i)).Namespace("greedy"), {}, images);
  builder.AddPod(MakePod("web").Namespace("shop"), {}, {Image("r.io/intel:1", {"amd64"})});
  const Report report = builder.Build();
  size_t bytes = 0, lines_of_greedy = 0;
  const WorkloadLine* web = nullptr;
  for (const WorkloadLine& line : report.workloads) {
    bytes += sizeof line + line.images.size() * sizeof(HeldBackImage);
    if (line.ns == "greedy") ++lines_of_greedy;
    if (line.ns == "shop") web = &line;
  }
  EXPECT_LE(bytes, kOfNamespace + 1'000);
  EXPECT_GT(lines_of_greedy, 0u);
  EXPECT_EQ(report.left_out, kPods - lines_of_greedy);
  EXPECT_EQ(report.fates[static_cast<size_t>(Fate::kHeldBack)].pods, kPods + 1);
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->images.size(), 1u);
}

TEST_F(ReportTest, Formats) {
  builder_.AddPod(OfDeployment("old", "7f", "a").Node("intel"), {2, kGiB},
                  {Image("r.io/<b>:1", {"amd64"})});
  Report report = builder_.Build();
  report.workloads[0].images[0].newer = "r.io/b:2";
  const std::string reason = "r.io/<b>:1 is for linux/amd64, r.io/b:2 has arm64";
  EXPECT_THAT(Say(report, /*wide=*/false), HasSubstr(reason));
  EXPECT_THAT(Say(report, /*wide=*/false), Not(HasSubstr("OWNER")));
  EXPECT_THAT(Say(report, /*wide=*/true), HasSubstr("OWNER"));
  EXPECT_THAT(AsCsv(report),
              HasSubstr("shop,Deployment,old,,1,amd64 1,amd64,2.00,1.0,held back,\""));
  EXPECT_EQ(AsJson(report)["workloads"][0]["images"][0]["newer"], "r.io/b:2");
  auto parsed = kube::ParseJson(AsJsonText(report));
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, AsJson(report));
  const std::string html = AsHtml(report, {});
  EXPECT_THAT(html, HasSubstr("r.io/&lt;b&gt;:1 is for linux/amd64"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("width:25.0%"));
}

}  // namespace
}  // namespace plugin

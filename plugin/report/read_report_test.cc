// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/read_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "image-facts/image_facts.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "plugin/report/report_text.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ReadReportTest : public ::testing::Test {
 protected:
  ReadReportTest() {
    kube::core::Node node;
    node.mutable_metadata()->set_name("intel");
    (*node.mutable_metadata()->mutable_labels())["kubernetes.io/arch"] = "amd64";
    api_.Create(node);
    image_facts::ImageFacts facts;
    facts.mutable_metadata()->set_namespace_("operator");
    facts.mutable_metadata()->set_name("image-facts-0");
    facts.facts.push_back({"r.io/app:1", "sha256:" + std::string(64, 'a'),
                           std::make_shared<placement::ImagePlatforms>(placement::ImagePlatforms{
                               .platforms = {{"linux", "amd64"}, {"linux", "arm64"}}}),
                           image_facts::Seconds(std::chrono::seconds(1))});
    api_.Create(facts);
    api_.Create<kube::core::Pod>(
        MakePod("a").Namespace("shop").Image("r.io/app:1").Node("intel").Label("app", "a"));
    api_.Create<kube::core::Pod>(MakePod("b").Namespace("bank").Image("r.io/app:2").Node("intel"));
  }
  kube::Result<Report> Read(const std::string& ns, const std::string& selector = "") {
    return kube::Run(
        io_, ReadReport(api_, finder_,
                        {.ns = ns, .label_selector = selector, .operator_namespace = "operator"}));
  }

  boost::asio::io_context io_{1};
  kube::FakeApiServer api_{kube::RealClock()};
  ImageFinder finder_{api_,
                      io_.get_executor(),
                      kube::RealClock(),
                      {.operator_namespace = "operator", .asks_registries = false}};
};

TEST_F(ReadReportTest, OfAllNamespacesOrOne) {
  auto report = Read("");
  ASSERT_THAT(report, kube::IsOk());
  ASSERT_THAT(report->workloads, SizeIs(2));
  EXPECT_EQ(report->workloads[0].ns, "bank");
  EXPECT_EQ(report->workloads[0].fate, Fate::kNotKnown);
  EXPECT_EQ(report->workloads[1].fate, Fate::kCould);
  ASSERT_THAT(report->architectures, SizeIs(1));
  EXPECT_EQ(report->architectures[0].pods, 2u);
  EXPECT_THAT(Read("bank")->workloads, SizeIs(1));
  EXPECT_THAT(Read("", "app=a")->workloads, SizeIs(1));
}

TEST_F(ReadReportTest, WhatMayNotBeReadIsNamed) {
  const kube::Error denied = kube::Error::PermissionDenied("forbidden");
  api_.FailNext(denied, "/nodes", 9);
  api_.FailNext(denied, "/imagefacts", 9);
  auto report = Read("shop");
  ASSERT_THAT(report, kube::IsOk());
  EXPECT_THAT(report->unread, SizeIs(2));
  EXPECT_THAT(Say(*report, /*wide=*/false), HasSubstr("not read  nodes: forbidden\n"));
  api_.FailNext(denied, "/pods", 9);
  EXPECT_THAT(Read("shop"), kube::FailsWith(kube::Code::kPermissionDenied));
}

}  // namespace
}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
#include "operator/feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Json;
using namespace std::chrono_literals;

// A feature that owns ServiceAccount ops/widget and has no other work.
struct Widget {
  int terms = 0;
  int starts = 0;
  int reconciles = 0;
  std::string remains;
  FeatureContext* context = nullptr;  // of the last term
};

class WidgetTerm final : public FeatureTerm {
 public:
  WidgetTerm(Widget& widget, FeatureContext context)
      : widget_(widget), context_(std::move(context)) {
    ++widget_.terms;
    widget_.context = &context_;
  }
  void Start(kube::TaskGroup&) override { ++widget_.starts; }
  bool Owns(const kube::Unstructured& object) const override {
    return object.metadata().name() == "widget";
  }
  std::string Remains() const override { return widget_.remains; }
  kube::Async<kube::Outcome> Reconcile(kube::Request) override {
    ++widget_.reconciles;
    co_return kube::Outcome::Done();
  }

 private:
  Widget& widget_;
  FeatureContext context_;
};

class WidgetFeature final : public Feature {
 public:
  explicit WidgetFeature(Widget& widget) : widget_(widget) {}
  std::string_view name() const override { return "widgets"; }
  std::vector<std::string> Deployments() const override { return {"widget"}; }
  std::vector<ValidatedKind> ValidatedKinds() const override {
    return {{"validate-widget.example.com",
             "/validate-widget",
             {"example.com", "v1", "widgets", "Widget"}}};
  }
  void AddTo(kube::HttpsServer&) override {}
  std::unique_ptr<FeatureTerm> NewTerm(FeatureContext context) override {
    return std::make_unique<WidgetTerm>(widget_, std::move(context));
  }

 private:
  Widget& widget_;
};

class FeatureTest : public testing::Test {
 protected:
  FeatureTest() {
    h_.features.push_back(std::make_unique<WidgetFeature>(widget_));
    h_.StartOperator();
  }

  Widget widget_;
  Harness h_;
};

TEST_F(FeatureTest, IsReconciledOnChangesOfTheConfigAndOfItsObjects) {
  EXPECT_EQ(widget_.terms, 1);
  EXPECT_EQ(widget_.starts, 1);
  EXPECT_EQ(widget_.reconciles, 1) << "at the start";
  ASSERT_TRUE(h_.BringUpCluster());
  EXPECT_GT(widget_.reconciles, 1) << "a new ClusterPodPlacementConfig";

  h_.Pass(10s);
  int before = widget_.reconciles;
  Json object = {{"apiVersion", "v1"},
                 {"kind", "ServiceAccount"},
                 {"metadata",
                  {{"name", "widget"},
                   {"namespace", "ops"},
                   {"labels", {{std::string(kManagedByLabel), std::string(kManagedBy)}}}}}};
  h_.api.CreateJson(kube::kServiceAccounts, object);
  EXPECT_TRUE(h_.Await([&] { return widget_.reconciles == before + 1; })) << "an object";

  h_.Pass(10s);
  before = widget_.reconciles;
  widget_.context->changed();
  EXPECT_TRUE(h_.Await([&] { return widget_.reconciles == before + 1; })) << "by itself";
}

TEST_F(FeatureTest, ANewTermHasItsOwnState) {
  h_.StopOperator();
  h_.StartOperator();
  EXPECT_EQ(widget_.terms, 2);
  EXPECT_EQ(widget_.starts, 2);
}

TEST_F(FeatureTest, TheDeletionOfTheConfigWaitsForItsRemains) {
  ASSERT_TRUE(h_.BringUpCluster());
  widget_.remains = "the widget is being removed";
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
  EXPECT_TRUE(h_.Await([&] {
    return h_.ClusterMessage("Deprovisioning").find(widget_.remains) != std::string::npos;
  })) << h_.ClusterMessage("Deprovisioning");

  widget_.remains = "";
  widget_.context->removed();
  h_.Pass(1s);
  EXPECT_FALSE(h_.Exists(Harness::kClusterConfigs, {"", "cluster"}));
}

TEST_F(FeatureTest, ItsKindsAreValidated) {
  h_.RefreshCertificate();
  ASSERT_TRUE(h_.BringUpCluster());
  Json configuration = *h_.api.GetJson(kube::kValidatingWebhookConfigurations,
                                       {"", std::string(kValidatingWebhookConfigurationName)});
  EXPECT_THAT(kube::DumpJson(configuration), testing::HasSubstr("/validate-widget"));
}

}  // namespace
}  // namespace operator_

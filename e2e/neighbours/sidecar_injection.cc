// SPDX-License-Identifier: Apache-2.0
// A webhook that injects a sidecar, as Istio's does: before and after the webhook that gates, or
// after the policies that gate. What is inspected is the pod as it is stored: the sidecar's image
// counts.
#include "e2e/framework/flow_fixture.h"
#include "e2e/neighbours/stand_in_webhook.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

constexpr char kInjected[] = "sidecar.istio.io/status";

// How a sidecar is injected, and what gates the pod.
struct Case {
  const char* name;
  // The API server calls webhooks in the order of names; those of the operator begin with
  // "pod-placement-".
  const char* webhook;
  // An init container with restartPolicy Always, as Istio's by default; else a container.
  bool native;
  const char* gating;
};

// The patch of an injector, which leaves an injected pod unchanged.
kube::AdmissionResponse Inject(const kube::AdmissionRequest& request, const std::string& image,
                               bool native) {
  auto pod = kube::ParseJson(request.object_json);
  if (!pod) return kube::AdmissionResponse::Errored(400, "no pod");
  if (!AnnotationOf(*pod, kInjected).empty()) return kube::AdmissionResponse::Allowed();
  Json sidecar = {{"name", "istio-proxy"}, {"image", image}};
  if (native) sidecar["restartPolicy"] = "Always";
  const char* list = native ? "/spec/initContainers" : "/spec/containers/-";
  Json patch = Json::array(
      {{{"op", "add"}, {"path", list}, {"value", native ? Json::array({sidecar}) : sidecar}},
       {{"op", "add"}, {"path", "/metadata/annotations"}, {"value", {{kInjected, "injected"}}}},
       {{"op", "add"},
        {"path", "/spec/nodeSelector"},
        {"value", {{"kubernetes.io/os", "linux"}}}}});
  // Others may have added annotations before.
  if (kube::Find(*pod, "metadata.annotations") != nullptr) {
    patch[1]["path"] = "/metadata/annotations/sidecar.istio.io~1status";
    patch[1]["value"] = "injected";
  }
  return kube::AdmissionResponse::Patched(kube::DumpJson(patch));
}

class SidecarInjectionFlow : public FlowFixture, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    if (GetParam().gating == std::string("Policy")) {
      if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
    }
    auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/gating", GetParam().gating));
    ASSERT_TRUE(used) << used.error();
    std::string image = Image("demo/arm64:1");
    auto started = StandInWebhook::Start(
        scene(),
        {.name = GetParam().webhook, .decide = [image](const kube::AdmissionRequest& request) {
           return Inject(request, image, GetParam().native);
         }});
    ASSERT_TRUE(started) << started.error();
    injector_ = std::move(*started);
  }
  void TearDown() override {
    injector_.reset();
    FlowFixture::TearDown();
  }

  static Condition HasOneSidecar(const std::string& pod) {
    return OfPod(pod, "has one sidecar", [](const Json& json) {
      const char* list = GetParam().native ? "spec.initContainers" : "spec.containers";
      int sidecars = 0;
      for (const Json& container : kube::ListAt(json, list))
        sidecars += kube::StringAt(container, "name") == "istio-proxy";
      return sidecars == 1;
    });
  }

  std::unique_ptr<StandInWebhook> injector_;
};

TEST_P(SidecarInjectionFlow, TheSidecarsImageLimitsTheRequirement) {
  Flow flow(scene(), "a sidecar is injected");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Await(injector_->InForce())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Do(Create(MakePod("no-common").Image(Image("demo/amd64:1"))))
      .Await(Requires("web", {"arm64"}))
      .Check(Prefers("web", {{"arm64", 33}}))
      .Check(HasOneSidecar("web"))
      .Await(ScheduledOn("web", {"arm64"}))
      .Await(EventAbout("no-common", std::string(api::kReasonNoSupportedArchitectures)))
      .Await(Ungated("no-common"))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision())
      .Never(CreatedWithoutClusterGate());
}

INSTANTIATE_TEST_SUITE_P(
    By, SidecarInjectionFlow,
    testing::Values(Case{"FirstContainer", "istio-sidecar-injector", false, "Webhook"},
                    Case{"FirstNative", "istio-sidecar-injector", true, "Webhook"},
                    Case{"LastContainer", "z-sidecar-injector", false, "Webhook"},
                    Case{"LastNative", "z-sidecar-injector", true, "Webhook"},
                    Case{"AfterPolicies", "istio-sidecar-injector", true, "Policy"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// What autoscalers look at: the condition PodScheduled of pods. Cluster Autoscaler, Karpenter and
// others add nodes for pods with the reason Unschedulable; a gated pod has SchedulingGated.
#include "e2e/framework/flow_fixture.h"
#include "kube/types/object_fields.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class PendingPodsFlow : public FlowFixture {
 protected:
  static Condition HasReason(const std::string& pod, const std::string& reason) {
    return OfPod(pod, "has PodScheduled=False with " + reason, [reason](const Json& json) {
      const Json* scheduled = kube::ConditionOf(json, "PodScheduled");
      return scheduled != nullptr && kube::StringAt(*scheduled, "status") == "False" &&
             kube::StringAt(*scheduled, "reason") == reason;
    });
  }
  static PodRule WasUnschedulableWhileGated() {
    return {"a pod was Unschedulable while it was gated",
            [](const PodHistory& history) -> kube::Result<> {
              for (const PodEvent& event : history.events) {
                const Json* scheduled = kube::ConditionOf(event.pod, "PodScheduled");
                if (IsGated(event.pod) && scheduled != nullptr &&
                    kube::StringAt(*scheduled, "reason") == "Unschedulable") {
                  return kube::Error::Invalid(kube::DumpJson(*scheduled));
                }
              }
              return kube::Ok();
            }};
  }
};

TEST_F(PendingPodsFlow, AGatedPodIsNotUnschedulable) {
  auto too_large = [&](const std::string& name, const std::string& image) {
    return MakePod(name)
        .Image(Image(image))
        .Set("/spec/containers/0/resources/requests/cpu", "1000000");
  };
  Flow(scene(), "pods that fit on no node")
      .Do(Create(too_large("waiting", "demo/missing:1")))
      .Do(Create(too_large("placed", "demo/arm64:1")))
      .Await(HasReason("waiting", "SchedulingGated"))
      // Only when it has its requirement, an autoscaler sees it.
      .Await(Requires("placed", {"arm64"}))
      .Await(HasReason("placed", "Unschedulable"))
      .Await(Ungated("waiting"))
      .Await(HasReason("waiting", "Unschedulable"))
      .Never(WasUnschedulableWhileGated());
}

}  // namespace
}  // namespace e2e

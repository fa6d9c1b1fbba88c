// SPDX-License-Identifier: Apache-2.0
// A validating webhook with constraints on pods, as Gatekeeper has them: required labels, gates
// that are not known, and an affinity that may not change. See docs/compatibility.md.
#include "e2e/framework/flow_fixture.h"
#include "e2e/neighbours/stand_in_webhook.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionResponse;

AdmissionResponse Deny(const std::string& constraint, const std::string& message) {
  return AdmissionResponse::Denied(403, "Forbidden", "[" + constraint + "] " + message);
}

AdmissionResponse RequireOwner(const AdmissionRequest& request) {
  auto pod = kube::ParseJson(request.object_json);
  if (!pod || LabelOf(*pod, "owner").empty())
    return Deny("must-have-owner", "you must provide labels: {\"owner\"}");
  return AdmissionResponse::Allowed();
}

AdmissionResponse AllowNoGates(const AdmissionRequest& request) {
  auto pod = kube::ParseJson(request.object_json);
  for (const Json& gate : pod ? kube::ListAt(*pod, "spec.schedulingGates") : Json::array())
    return Deny("no-gates", "gate " + kube::StringAt(gate, "name") + " is not allowed");
  return AdmissionResponse::Allowed();
}

AdmissionResponse KeepAffinity(const AdmissionRequest& request) {
  auto pod = kube::ParseJson(request.object_json);
  auto old = kube::ParseJson(request.old_object_json);
  if (!pod || !old) return AdmissionResponse::Allowed();
  if (kube::ObjectAt(*pod, "spec.affinity") != kube::ObjectAt(*old, "spec.affinity"))
    return Deny("keep-affinity", "spec.affinity may not change");
  return AdmissionResponse::Allowed();
}

class ValidatingWebhookFlow : public FlowFixture {
 protected:
  void Start(std::function<AdmissionResponse(const AdmissionRequest&)> decide,
             std::vector<std::string> operations) {
    auto started = StandInWebhook::Start(scene(), {.name = "gatekeeper",
                                                   .mutating = false,
                                                   .operations = std::move(operations),
                                                   .decide = std::move(decide)});
    ASSERT_TRUE(started) << started.error();
    webhook_ = std::move(*started);
  }
  void TearDown() override {
    webhook_.reset();
    FlowFixture::TearDown();
  }
  PodBuilder Pod(const std::string& name) { return MakePod(name).Image(Image("demo/multi:1")); }

  std::unique_ptr<StandInWebhook> webhook_;
};

TEST_F(ValidatingWebhookFlow, RequiredLabelsOfTheAuthorAreEnough) {
  Start(RequireOwner, {"CREATE", "UPDATE"});
  Flow(scene(), "a label is required")
      .Await(webhook_->InForce())
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Refused(Create(Pod("none")), {"must-have-owner"})
      // The pods of the shard itself are refused too, and the config says so.
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "must-have-owner"))
      .Do(Create(Pod("web").Label("owner", "web")))
      .Await(Requires("web", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Check(Prefers("web", {{"arm64", 33}}));
}

TEST_F(ValidatingWebhookFlow, AConstraintThatForbidsGatesRefusesThePod) {
  Start(AllowNoGates, {"CREATE"});
  Flow(scene(), "gates are not allowed")
      .Await(webhook_->InForce())
      .Refused(Create(Pod("web")), {"no-gates", std::string(api::kClusterGate)})
      .Do(Create(Pod("outside").Label(std::string(api::kExcludeLabel), "")))
      .Await(Ungated("outside"));
}

TEST_F(ValidatingWebhookFlow, APodWhoseAffinityMayNotChangeIsReleasedWithoutIt) {
  Start(KeepAffinity, {"CREATE", "UPDATE"});
  Flow(scene(), "the affinity may not change")
      .Await(webhook_->InForce())
      .Do(Create(Pod("web")))
      .Await(Ungated("web"))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed), {"keep-affinity"}))
      .Check(OfPod("web", "has no affinity",
                   [](const Json& pod) { return kube::Find(pod, "spec.affinity") == nullptr; }));
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// The plugin execFormatErrorMonitor: an object is created and gets its status, as a monitor on a
// node does; the pod gets an event and a label, and the object is deleted. The object of a node
// that does not run the pod leaves no trace.
#include "e2e/framework/flow_fixture.h"
#include "exec-format/e_no_exec_event.h"
#include "exec-format/flows/reported_container.h"
#include "exec-format/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace e2e {
namespace {

using exec_format::ENoExecEvent;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr kube::Resource kENoExecEvents = kube::ResourceOf<ENoExecEvent>::value;
const std::string kLabel(exec_format::kExecFormatErrorLabel);
const std::string kReason(exec_format::kReasonExecFormatError);

// The failure of a file with an unusual name.
Step Report(const std::string& name, const std::string& pod, const std::string& node, By by) {
  return ReportFailure(name, pod, node, by, "/app/\"server\"\n");
}

Condition Deleted(const std::string& name) {
  return {.name = "ENoExecEvent " + name + " is deleted", .holds = [=](Scene& scene) -> Result<> {
            Cluster& cluster = scene.cluster();
            kube::ObjectKey key{cluster.operator_namespace(), name};
            auto found =
                cluster.Run(kube::GetObject(cluster.client(), kENoExecEvents, std::move(key)));
            if (IsNotFound(found)) return Ok();
            if (!found) return found.error();
            return Error::AlreadyExists(kube::DumpJson(found->body()));
          }};
}

Condition NoTraceOn(const std::string& pod) {
  return {.name = pod + " has neither the event nor the label",
          .holds = [=](Scene& scene) -> Result<> {
            auto found = scene.Get(kPods, pod);
            if (!found) return found.error();
            const Json* labels = kube::Find(*found, "metadata.labels");
            if (labels != nullptr && labels->contains(kLabel))
              return Error::Internal(kube::DumpJson(*labels));
            if (EventAbout(pod, kReason).holds(scene)) return Error::Internal("it has the event");
            return Ok();
          }};
}

class ExecFormatErrorsFlow : public FlowFixture {
 protected:
  void Enable() {
    auto used = UseClusterConfig(
        DefaultClusterConfig().Set("/spec/plugins/execFormatErrorMonitor/enabled", true));
    ASSERT_TRUE(used) << used.error();
  }
  PodBuilder PodOn(const std::string& name, const std::string& architecture) {
    return MakePod(name).Image(Image("demo/multi:1")).Set("/spec/nodeName", "node-" + architecture);
  }
};

TEST_F(ExecFormatErrorsFlow, ThePodGetsAnEventAndALabel) {
  Enable();
  const std::vector<std::string> words = {"Container \"c0\"", R"("/app/\x22server\x22\x0a")",
                                          "node-arm64 (arm64)"};
  Flow(scene(), "exec format errors")
      .Do(Create(PodOn("by-name", "arm64")))
      .Do(Create(PodOn("by-uid", "arm64")))
      .Await(Runs("by-name"))
      .Await(Runs("by-uid"))
      .Do(ReportContainer("by-name", ContainerId()))
      .Do(ReportContainer("by-uid", ContainerId()))
      .Do(Report("named", "by-name", "node-arm64", By::kName))
      .Await(Deleted("named"))
      .Await(Labelled("by-name", kLabel, "true"))
      .Await(EventAbout("by-name", kReason, words))
      .Check(NoTraceOn("by-uid"))
      .Do(Report("of-uid", "by-uid", "node-arm64", By::kUid))
      .Await(Deleted("of-uid"))
      .Await(Labelled("by-uid", kLabel, "true"))
      .Await(EventAbout("by-uid", kReason, words));
}

TEST_F(ExecFormatErrorsFlow, ANodeSaysNothingOfThePodsOfOthers) {
  Enable();
  Flow(scene(), "reports of another node")
      .Do(Create(PodOn("web", "arm64")))
      .Await(Runs("web"))
      .Do(ReportContainer("web", ContainerId()))
      .Do(Report("named", "web", "node-s390x", By::kName))
      .Do(Report("of-uid", "web", "node-s390x", By::kUid))
      .Await(Deleted("named"))
      .Await(Deleted("of-uid"))
      .Stays(NoTraceOn("web"), 3s);
}

// While the plugin is off, nobody deletes them.
TEST_F(ExecFormatErrorsFlow, WithoutThePluginNothingIsHandled) {
  Flow flow(scene(), "without the plugin");
  flow.Do(Create(PodOn("web", "arm64")))
      .Await(Runs("web"))
      .Do(ReportContainer("web", ContainerId()))
      .Do(Report("named", "web", "node-arm64", By::kName))
      .Stays(NoTraceOn("web"), 3s);
  Enable();
  flow.Await(Deleted("named")).Await(Labelled("web", kLabel, "true"));
}

// Manifests that are older than the program: pods are placed all the same.
TEST_F(ExecFormatErrorsFlow, AKindThatIsMissingIsWatchedOnceItIsThere) {
  const std::string name = "enoexecevents.multiarch.openshift.io";
  auto crd = scene().Get(kube::kCustomResourceDefinitions, name);
  ASSERT_TRUE(crd) << crd.error();
  Json again = {{"apiVersion", (*crd)["apiVersion"]},
                {"kind", (*crd)["kind"]},
                {"metadata", {{"name", name}, {"labels", (*crd)["metadata"]["labels"]}}},
                {"spec", (*crd)["spec"]}};
  Flow flow(scene(), "the kind is missing");
  flow.Do(Delete(kube::kCustomResourceDefinitions, name))
      .Await(Absent(kube::kCustomResourceDefinitions, name));
  Enable();
  flow.Do(Create(MakePod("placed").Image(Image("demo/multi:1"))))
      .Await(Ungated("placed"))
      .Do(Create(kube::kCustomResourceDefinitions, again))
      .Await(HasStatusCondition(kube::kCustomResourceDefinitions, name, "Established", "True"))
      .Do(Create(PodOn("web", "arm64")))
      .Await(Runs("web"))
      .Do(ReportContainer("web", ContainerId()))
      .Do(Report("named", "web", "node-arm64", By::kName))
      .Await(Deleted("named"), 120s)
      .Await(Labelled("web", kLabel, "true"));
}

}  // namespace
}  // namespace e2e

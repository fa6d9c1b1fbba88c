// SPDX-License-Identifier: Apache-2.0
// Images whose entrypoint is no program for the node, on a real node: the container does not start,
// and the pod says why. For clusters with a kubelet.
#include "api/names.h"
#include "e2e/framework/flow_fixture.h"
#include "exec-format/names.h"
#include "exec-format/operator/monitor_status.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

const std::string kReason(exec_format::kReasonExecFormatError);
const std::string kLabel(exec_format::kExecFormatErrorLabel);

class WrongImagesFlow : public FlowFixture {};

TEST_F(WrongImagesFlow, ThePodSaysThatItsEntrypointIsNoProgramForTheNode) {
  auto used = UseClusterConfig(
      DefaultClusterConfig().Set("/spec/plugins/execFormatErrorMonitor/enabled", true));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "wrong entrypoints");
  flow.Await(HasStatusCondition(kClusterConfigs, std::string(api::kClusterConfigName),
                                std::string(exec_format::kMonitorAvailable), "True"),
             120s);
  for (const char* image : {"wrong-program", "no-program", "empty"}) {
    flow.Do(Create(MakePod(image)
                       .Image(Image("demo/" + std::string(image) + ":1"))
                       .Set("/spec/restartPolicy", "Never")
                       .Set("/spec/nodeSelector", {{std::string(api::kArchLabel), "amd64"}})));
  }
  for (const char* pod : {"wrong-program", "no-program", "empty"}) {
    flow.Await(EventAbout(pod, kReason, {"/pause", "amd64"}), 120s)
        .Await(Labelled(pod, kLabel, "true"));
  }
  // The index of the first one names two architectures, and its program is for one of them.
  flow.Await(EventAbout("wrong-program", std::string(api::kReasonImageFinding),
                        {"amd64", "built for arm64"}),
             60s)
      .Do(Create(MakePod("again").Image(Image("demo/wrong-program:1"))))
      .Await(Requires("again", {"arm64"}))
      .Await(EventAbout("again", std::string(api::kReasonImageFinding), {"amd64"}));
  // Their containers have never run, which is no failure of the operator.
  flow.Check(HasStatusCondition(kClusterConfigs, std::string(api::kClusterConfigName), "Degraded",
                                "False"));
}

}  // namespace
}  // namespace e2e

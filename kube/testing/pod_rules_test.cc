// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A pod with `spec`, the inside of an object of JSON.
Json PodOf(const std::string& spec) { return MustParseJson("{\"spec\": {" + spec + "}}"); }

// The fields of the problems.
std::vector<std::string> Problems(const std::string& before, const std::string& after) {
  std::vector<std::string> fields;
  for (const Cause& cause : PodUpdateProblems(PodOf(before), PodOf(after)))
    fields.push_back(cause.field);
  return fields;
}

const std::string kGated = R"("schedulingGates": [{"name": "a"}])";

std::string Required(const std::string& terms) {
  return R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [)" +
         terms + "]}}}";
}
std::string Term(const std::string& expressions) {
  return R"({"matchExpressions": [)" + expressions + "]}";
}
const std::string kArm = R"({"key": "arch", "operator": "In", "values": ["arm64"]})";
const std::string kSsd = R"({"key": "disk", "operator": "In", "values": ["ssd"]})";
constexpr char kTerms[] =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

TEST(PodRulesTest, GatesAreOnlyRemoved) {
  std::string two = R"("schedulingGates": [{"name": "b"}, {"name": "a"}])";
  EXPECT_THAT(Problems(two, kGated), IsEmpty());
  EXPECT_THAT(Problems(kGated, ""), IsEmpty());
  EXPECT_THAT(Problems(kGated, two), ElementsAre("spec.schedulingGates[0].name"));
  EXPECT_THAT(Problems("", kGated), ElementsAre("spec.schedulingGates[0].name"));
}

TEST(PodRulesTest, RequiredAffinityOfAGatedPodIsOnlyNarrowed) {
  auto gated = [](const std::string& rest) { return kGated + "," + rest; };
  EXPECT_THAT(Problems(kGated, gated(Required(Term(kArm)))), IsEmpty());
  EXPECT_THAT(Problems(kGated, Required(Term(kArm))), IsEmpty()) << "in the write that ungates";
  EXPECT_THAT(Problems(gated(Required(Term(kSsd))), Required(Term(kSsd + "," + kArm))), IsEmpty());
  EXPECT_THAT(Problems(gated(Required(Term(kSsd))), Required(Term(kArm + "," + kSsd))),
              ElementsAre(std::string(kTerms) + "[0]"));
  EXPECT_THAT(Problems(gated(Required(Term(kSsd))), gated(Required(Term(kArm)))),
              ElementsAre(std::string(kTerms) + "[0]"));
  EXPECT_THAT(Problems(gated(Required(Term(kSsd))), kGated), ElementsAre(kTerms));
  EXPECT_THAT(Problems(gated(Required(Term(kSsd))), gated(Required(Term(kSsd) + "," + Term(kArm)))),
              ElementsAre(kTerms));
  EXPECT_THAT(Problems(gated(Required("{}")), gated(Required(Term(kArm)))),
              ElementsAre(std::string(kTerms) + "[0]"))
      << "an empty term matches nothing";
}

TEST(PodRulesTest, PreferredAffinityOfAGatedPodChangesFreely) {
  std::string preferred = R"("affinity": {"nodeAffinity":
      {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}})";
  EXPECT_THAT(Problems(kGated, kGated + "," + preferred), IsEmpty());
  EXPECT_THAT(Problems(kGated + "," + preferred, kGated), IsEmpty());
  EXPECT_THAT(Problems("", preferred), ElementsAre("spec")) << "not gated";
}

TEST(PodRulesTest, NodeSelectorOfAGatedPodIsOnlyNarrowed) {
  std::string a = R"("nodeSelector": {"a": "1"})";
  std::string ab = R"("nodeSelector": {"a": "1", "b": "1"})";
  EXPECT_THAT(Problems(kGated + "," + a, kGated + "," + ab), IsEmpty());
  EXPECT_THAT(Problems(kGated + "," + ab, kGated + "," + a), ElementsAre("spec.nodeSelector"));
  EXPECT_THAT(Problems(kGated + "," + a, kGated), ElementsAre("spec.nodeSelector"));
  EXPECT_THAT(Problems(a, ab), ElementsAre("spec")) << "not gated";
}

TEST(PodRulesTest, TolerationsAreOnlyAdded) {
  std::string one = R"("tolerations": [{"key": "a", "operator": "Exists"}])";
  std::string two =
      R"("tolerations": [{"key": "b"}, {"key": "a", "operator": "Exists", "tolerationSeconds": 9}])";
  EXPECT_THAT(Problems(one, two), IsEmpty());
  EXPECT_THAT(Problems(two, one), ElementsAre("spec.tolerations"));
  EXPECT_THAT(Problems(one, ""), ElementsAre("spec.tolerations"));
}

TEST(PodRulesTest, OtherFieldsStay) {
  std::string pod = R"("containers": [{"name": "c", "image": "r.io/a:1", "command": ["x"]}])";
  EXPECT_THAT(Problems(pod, R"("containers": [{"name": "c", "image": "r.io/b:1",
                             "command": ["x"], "args": []}])"),
              IsEmpty());
  EXPECT_THAT(Problems(pod, R"("containers": [{"name": "c", "image": "r.io/a:1"}])"),
              ElementsAre("spec"))
      << "a field that a controller does not know is lost";
  EXPECT_THAT(Problems(pod, ""), ElementsAre("spec.containers"));
  EXPECT_THAT(Problems(kGated, kGated + R"(, "nodeName": "n")"), ElementsAre("spec"));
  EXPECT_THAT(Problems(kGated, kGated + R"(, "nodeName": "")"), IsEmpty());
  EXPECT_THAT(Problems(kGated, kGated + R"(, "affinity": {"podAffinity": {"x": 1}})"),
              ElementsAre("spec"));
}

}  // namespace
}  // namespace kube

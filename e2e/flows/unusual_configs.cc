// SPDX-License-Identifier: Apache-2.0
// Many configs in one namespace, names of the largest size, and selectors of many expressions.
#include <iostream>

#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class UnusualConfigsFlow : public FlowFixture {
 protected:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// `length` characters, with dots: "PREFIX.aaa.aaa..."
std::string LongName(const std::string& prefix, size_t length) {
  std::string name = prefix;
  while (name.size() < length) name += name.size() % 4 == 3 && name.size() + 1 < length ? '.' : 'a';
  return name;
}

TEST_F(UnusualConfigsFlow, SixtyInOneNamespaceAreAllApplied) {
  constexpr int kCount = 60;
  const char* const architectures[] = {"amd64", "arm64", "ppc64le", "s390x"};
  Flow flow(scene(), "60 configs in one namespace");
  // The first four select every pod, each other one a pod of its own.
  for (int i = 0; i < kCount; ++i) {
    ConfigBuilder config = MakeConfig("config-" + std::to_string(i));
    config.Priority(i).Prefer(architectures[i % 4], i + 1);
    if (i >= 4) config.ForLabel("number", std::to_string(i));
    flow.Do(Create(config));
  }
  flow.Await(ShardReady());
  double ready = Seconds();
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"amd64", 1}, {"arm64", 2}, {"ppc64le", 3}, {"s390x", 4}}))
      .Do(Create(MakePod("fifty").Label("number", "50").Image(Image("demo/multi:1"))))
      // The config of the pod's own, of a higher priority, and those for every pod.
      .Await(Prefers("fifty", {{"amd64", 1}, {"arm64", 2}, {"ppc64le", 51}, {"s390x", 4}}))
      .Never(CreatedWithoutClusterGate())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  std::cout << "60 configs: ready after " << ready << " s, a pod placed in "
            << (Seconds() - ready) / 2 << " s" << std::endl;
  EXPECT_TRUE(HasGate(scene().pods().Find("fifty")->events.front().pod, api::kLocalGate));
}

TEST_F(UnusualConfigsFlow, NamesMayHaveTheLargestSizeAndDots) {
  constexpr size_t kLargest = 253;
  // The names differ only in the last character.
  const std::string first = LongName("my.config", kLargest - 1) + "1";
  const std::string second = LongName("my.config", kLargest - 1) + "2";
  const std::string pod = LongName("my.pod", kLargest);
  ASSERT_EQ(first.size(), kLargest);
  ASSERT_EQ(pod.size(), kLargest);
  Flow flow(scene(), "names of 253 characters");
  flow.Do(Create(MakeConfig(first).Priority(1).Prefer("arm64", 10)))
      .Do(Create(MakeConfig(second).Priority(2).Prefer("arm64", 20).Prefer("amd64", 5)))
      .Do(Create(MakeConfig("a.b.c").Priority(3).ForLabel("app", "a.b.c").Prefer("s390x", 7)))
      .Await(ShardReady())
      .Do(Create(MakePod(pod).Label("app", "a.b.c").Image(Image("demo/multi:1"))))
      .Await(Prefers(pod, {{"arm64", 20}, {"amd64", 5}, {"s390x", 7}}))
      .Check(Annotated(pod, std::string(api::kPreferredAffinitySourcesAnnotation),
                       "s390x:7:PodPlacementConfig-a.b.c,arm64:20:PodPlacementConfig-" + second +
                           ",amd64:5:PodPlacementConfig-" + second +
                           ",arm64:10:PodPlacementConfig-" + first + ":skipped"))
      .Await(EventAbout(pod, std::string(api::kReasonGateRemoved)))
      .Await(EventAbout(pod, std::string(api::kReasonGateAdded)))
      .Never(CreatedWithoutClusterGate())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  // The webhook named each config that selects the pod.
  std::string configs =
      AnnotationOf(scene().pods().Find(pod)->last(), std::string(api::kLocalConfigsAnnotation));
  for (const std::string& name : {first, second, std::string("a.b.c")})
    EXPECT_NE(("," + configs + ",").find("," + name + ","), std::string::npos) << configs;
  flow.Do(Delete(kConfigs, first))
      .Do(Delete(kConfigs, second))
      .Do(Delete(kConfigs, "a.b.c"))
      .Await(ShardRemoved());
}

TEST_F(UnusualConfigsFlow, SelectorsMayHaveFiftyExpressions) {
  Json expressions = Json::array();
  PodBuilder selected = MakePod("selected").Image(Image("demo/multi:1"));
  PodBuilder other = MakePod("other").Image(Image("demo/multi:1"));
  for (int i = 0; i < 50; ++i) {
    std::string key = "example.com/key-" + std::to_string(i);
    Json expression = {{"key", key},
                       {"operator", i % 4 == 0   ? "In"
                                    : i % 4 == 1 ? "NotIn"
                                    : i % 4 == 2 ? "Exists"
                                                 : "DoesNotExist"}};
    if (i % 4 < 2) expression["values"] = {"a", "b", "c"};
    expressions.push_back(expression);
    if (i % 4 == 0) selected.Label(key, "c");
    if (i % 4 == 1) selected.Label(key, "d");
    if (i % 4 == 2) selected.Label(key, "");
    // Fails one requirement, the last one.
    if (i % 4 == 0) other.Label(key, "c");
    if (i % 4 == 2) other.Label(key, "");
    if (i == 49) other.Label(key, "a");
  }
  Flow flow(scene(), "50 expressions");
  flow.Do(Create(MakeConfig("picky")
                     .Prefer("arm64", 10)
                     .Set("/spec/labelSelector/matchExpressions", expressions)))
      .Await(ShardReady())
      .Do(Create(selected))
      .Do(Create(other))
      .Await(Prefers("selected", {{"arm64", 10}}))
      .Await(Prefers("other", {}));
  if (flow.failed()) return;
  EXPECT_TRUE(HasGate(scene().pods().Find("selected")->events.front().pod, api::kLocalGate));
  EXPECT_FALSE(HasGate(scene().pods().Find("other")->events.front().pod, api::kLocalGate));
}

}  // namespace
}  // namespace e2e

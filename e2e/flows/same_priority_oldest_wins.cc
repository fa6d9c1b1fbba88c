// SPDX-License-Identifier: Apache-2.0
// Configs with the same priority, created at the same time and accepted because the webhook could
// not see the others yet: the oldest is applied.
#include <algorithm>
#include <string>
#include <vector>

#include "e2e/framework/flow_fixture.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class SamePriorityFlow : public FlowFixture {
 protected:
  struct Stored {
    std::string created;
    std::string name;
    int weight = 0;
    auto operator<=>(const Stored&) const = default;
  };

  // Creates eight configs at once. Returns those that were accepted, the oldest first.
  std::vector<Stored> CreateTogether() {
    kube::TaskGroup tasks(cluster().io().get_executor());
    int done = 0;
    for (int i = 0; i < 8; ++i) {
      ConfigBuilder config =
          MakeConfig("c" + std::to_string(i)).Namespace(scene().ns()).Priority(7);
      tasks.Spawn("create", CreateOne(config.Prefer("arm64", 10 + i).Build(), &done));
    }
    while (done < 8) cluster().Pause(5ms);
    kube::IgnoreError(cluster().Run(tasks.Stop(cluster().clock(), 1s)),
                      "the list below shows the configs");
    std::vector<Stored> stored;
    auto listed = scene().List(kConfigs);
    EXPECT_TRUE(listed) << listed.error();
    if (!listed) return stored;
    for (const Json& config : *listed) {
      std::string name = kube::StringAt(config, "metadata.name");
      stored.push_back({kube::StringAt(config, "metadata.creationTimestamp"), name,
                        10 + std::stoi(name.substr(1))});
    }
    std::sort(stored.begin(), stored.end());
    return stored;
  }

 private:
  boost::asio::awaitable<void> CreateOne(Json config, int* done) {
    kube::Unstructured object(std::move(config));
    auto created = co_await kube::CreateObject(cluster().client(), kConfigs, std::move(object));
    kube::IgnoreError(created, "most are refused");
    ++*done;
  }
};

TEST_F(SamePriorityFlow, OfThoseCreatedTogetherTheOldestIsApplied) {
  std::vector<Stored> stored;
  for (int tries = 0; tries < 20 && stored.size() < 2; ++tries) {
    for (const Stored& config : stored)
      kube::IgnoreError(scene().Delete(kConfigs, config.name), "it may be absent");
    stored = CreateTogether();
  }
  ASSERT_GE(stored.size(), 2u)
      << "the webhook refused all but one, so there is no conflict to test";

  const Stored& oldest = stored[0];
  const Stored& next = stored[1];
  Flow flow(scene(), "the oldest config of " + std::to_string(stored.size()));
  flow.Await(HasStatusCondition(kConfigs, oldest.name, "Available", "True"));
  for (size_t i = 1; i < stored.size(); ++i) {
    flow.Await(HasStatusCondition(kConfigs, stored[i].name, "Degraded", "True", "PriorityConflict"))
        .Check(
            HasStatusCondition(kConfigs, stored[i].name, "Available", "False", "PriorityConflict"));
  }
  flow.Check(HasStatusCondition(kConfigs, oldest.name, "Degraded", "False"))
      .Do(Create(MakePod("first").Image(Image("demo/multi:1"))))
      .Await(Prefers("first", {{"arm64", oldest.weight}}))
      .Do(Delete(kConfigs, oldest.name))
      .Await(HasStatusCondition(kConfigs, next.name, "Available", "True"))
      .Await(HasStatusCondition(kConfigs, next.name, "Degraded", "False"))
      .Do(Create(MakePod("second").Image(Image("demo/multi:1"))))
      .Await(Prefers("second", {{"arm64", next.weight}}));
}

}  // namespace
}  // namespace e2e

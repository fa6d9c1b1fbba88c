// SPDX-License-Identifier: Apache-2.0
// What tenants make does not freeze the pages, and does not end the console.
#include <gmock/gmock.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "console/flows/console_fixture.h"
#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/framework/pod_history.h"

namespace e2e {
namespace {

using ::testing::HasSubstr;

// The limit of its container.
constexpr long kMemoryLimitKb = 512 * 1024;

class FullConsoleFlow : public ConsoleFixture {
 protected:
  void CreatePods(size_t pods, const Json& args) {
    for (size_t i = 0; i < pods; ++i) {
      auto created = scene().Create(
          kPods, MakePod("pod-" + std::to_string(i))
                     .Image(Image("demo/arm64-amd64:1"))
                     .Set("/spec/schedulingGates", Json::array({{{"name", "example.com/wait"}}}))
                     .Set("/spec/containers/0/args", args)
                     .Build());
      ASSERT_TRUE(created) << created.error();
    }
  }
};

TEST_F(FullConsoleFlow, ManyPodsDoNotFreezeAPage) {
  constexpr size_t kManyPods = 5'000;
  CreatePods(kManyPods, Json::array());
  Json given = Given(AdminToken());
  given["pods"] = kManyPods;
  RunScenario("manyPods", given);
}

// Each pod has a megabyte of small fields. All answers at once, for more clients than are answered.
TEST_F(FullConsoleFlow, LargePodsDoNotEndIt) {
  constexpr size_t kLargePods = 30;
  // The API server takes the square of the time for other lists.
  constexpr size_t kArgs = 200'000;
  const Json args(kArgs, "a");
  CreatePods(kLargePods, args);
  const std::string token = TokenOf("tenant", "view", /*everywhere=*/false);
  const std::string admin = AdminToken();
  auto asked = RunToEnd({.path = "bash",
                         .args = {"-c", R"(
ask() { curl --silent --max-time 60 --output /dev/null --write-out '%{http_code} %{size_download} %{time_total} '"$2"'\n' --header "X-Forwarded-Access-Token: $1" "$ADDRESS$2"; }
for round in 1 2; do
  for path in waiting report status "why/pod" "why/config" configs; do
    ask "$TENANT" "api/$path?namespace=$NAMESPACE&name=pod-0" &
    ask "$ADMIN" "api/$path?namespace=$NAMESPACE&name=pod-0" &
  done
  curl --silent --max-time 60 --output /dev/null --write-out '%{http_code} simulate\n' --header "X-Forwarded-Access-Token: $TENANT" --data-binary $'kind: PodPlacementConfig\nmetadata: {name: a}\nspec: {priority: 1, plugins: {nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 1}]}}}' "${ADDRESS}api/simulate?namespace=$NAMESPACE" &
done
wait
ask "$ADMIN" "api/session"
)"},
                         .env = {{"ADDRESS", address()},
                                 {"TENANT", token},
                                 {"ADMIN", admin},
                                 {"NAMESPACE", scene().ns()}}},
                        std::chrono::seconds(120));
  ASSERT_TRUE(asked) << asked.error();
  std::cout << asked->output;
  EXPECT_THAT(asked->output, HasSubstr("200 "));
  EXPECT_TRUE(asked->output.ends_with("api/session\n")) << asked->output;
  EXPECT_EQ(console().ExitStatus(), std::nullopt);
  auto cost = CostOf(console().pid());
  ASSERT_TRUE(cost) << cost.error();
  std::cout << "figure: console with large pods: at most " << cost->peak_rss_kb << " kB of "
            << kMemoryLimitKb << " kB" << std::endl;
  EXPECT_LT(cost->peak_rss_kb, kMemoryLimitKb * 60 / 100);
}

}  // namespace
}  // namespace e2e

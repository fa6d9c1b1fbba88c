// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/handed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using ::testing::ElementsAre;

constexpr Resource kShops{"example.com", "v1", "shops", "Shop"};

struct Shop {
  static Result<Shop> FromJson(const Json& json) {
    return Shop{StringAt(json, "metadata.name"), IntAt(json, "spec.price")};
  }
  std::string name;
  int64_t price = 0;
};

TEST(HandedTest, TheHandlerGetsEachChangeAndTheInformerKeepsNoObject) {
  asio::io_context io;
  FakeClock clock;
  FakeApiServer api(clock);
  TaskGroup tasks(io.get_executor());
  Informer<Handed<Shop>> shops(api, clock, {.resource = kShops});
  std::vector<std::string> seen;
  FollowHanded(
      shops, [&](Shop shop) { seen.push_back(shop.name + "=" + std::to_string(shop.price)); },
      [&](const ObjectKey& key) { seen.push_back("-" + key.ToString()); });
  Json shop = {{"apiVersion", "example.com/v1"},
               {"kind", "Shop"},
               {"metadata", {{"name", "a"}, {"namespace", "ns"}}},
               {"spec", {{"price", 1}}}};
  shop = api.CreateJson(kShops, shop);
  tasks.Spawn("shops", shops.Run());
  ASSERT_TRUE(RunUntil(io, [&] { return shops.synced(); }));
  shop["spec"]["price"] = 2;
  api.UpdateJson(kShops, shop);
  Drain(io);
  std::optional<Handed<Shop>> kept = shops.Get({"ns", "a"});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->object, nullptr);
  api.DeleteJson(kShops, {"ns", "a"});
  Drain(io);
  EXPECT_THAT(seen, ElementsAre("a=1", "a=2", "-ns/a"));
  IgnoreError(kube::Run(io, tasks.Stop(clock, std::chrono::seconds(0))), "the test ends");
}

}  // namespace
}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_store.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {
namespace {

using namespace std::chrono_literals;

// Whoever may create policies decides how many there are, and the operator keeps each.
TEST(PolicyStoreTest, TheNumberOfPoliciesIsLimited) {
  boost::asio::io_context io;
  kube::FakeClock clock;
  kube::FakeApiServer api{clock};
  kube::TaskGroup tasks{io.get_executor()};
  PolicyStore store{api, clock, "ops"};
  for (int i = 10'000; i < 20'010; ++i) {
    api.CreateJson(
        policy::kPodSchedulingPolicies,
        {{"metadata", {{"name", "p" + std::to_string(i)}, {"namespace", "shop"}, {"uid", "u"}}},
         {"spec", kube::Json::object()}});
  }
  store.Start(tasks);
  ASSERT_TRUE(kube::RunUntil(io, [&] { return store.synced(); }));
  int known = 0;
  int too_large = 0;
  for (int i = 10'000; i < 20'010; ++i) {
    const PolicyStore::Entry* entry = store.Find({"shop", "p" + std::to_string(i)});
    if (entry == nullptr) continue;
    ++known;
    if (entry->too_large) ++too_large;
  }
  EXPECT_EQ(known, 10'000);
  EXPECT_EQ(too_large, 10'000 - 256) << "a small one counts 1 KiB";
  EXPECT_THAT(kube::Run(io, tasks.Stop(kube::RealClock(), 5s)), kube::IsOk());
}

}  // namespace
}  // namespace operator_

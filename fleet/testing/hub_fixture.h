// SPDX-License-Identifier: Apache-2.0
// HubFixture: a test with the fake API server of a hub, a fake clock and an event loop.
//
//   class LeaderTest : public HubFixture { ... };
//   tasks_.Spawn("leader", leader_.Run(tasks_));
//   Pass(10s);
//   EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/pod_placement_work.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/controller/event_recorder.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/types/resource.h"

namespace fleet {

class HubFixture : public testing::Test {
 protected:
  // Ends the tasks, before the members of the test's class are gone.
  void TearDown() override;

  // Lets the tasks work until they wait, after this time.
  void Pass(kube::Duration time);
  // The condition "STATUS REASON" of the object, which must exist; "" if it has no such condition.
  std::string Condition(const kube::Resource& resource, const kube::ObjectKey& key,
                        std::string_view type);
  // The clusters that have a work object of this kind; "c1-" while it is being deleted.
  std::vector<std::string> Works(const kube::Resource& kind = kPodPlacementWorks);

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
};

}  // namespace fleet

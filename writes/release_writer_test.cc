// SPDX-License-Identifier: Apache-2.0
#include "writes/release_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "placement/release.h"

namespace writes {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;
using placement::Release;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

MATCHER_P(Is, written, "") { return arg && *arg == written; }

class ReleaseWriterTest : public testing::Test {
 protected:
  static MakePod Gated() {
    return std::move(MakePod("web").Gate(api::kLocalGate).Gate(api::kClusterGate));
  }
  // `pod` becomes one without gates, with what was decided: the label.
  static Release ReleaseWithLabel(Pod& pod) {
    Release release = placement::ReleaseBare(pod, api::kClusterGate);
    (*pod.mutable_metadata()->mutable_labels())["decided"] = "yes";
    release.events = {{"Decided", "a label"}};
    return release;
  }
  Result<Written> Write(const Pod& pod, Release release) {
    return kube::Run(io_, writer_.Write(pod, release, log_));
  }
  Pod Web() { return *api_.Get<Pod>({"ns", "web"}); }
  bool HasLabel(const std::string& key) { return Web().metadata().labels().contains(key); }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), "the events are sent");
    std::vector<std::string> reasons;
    for (const kube::core::Event& event : api_.List<kube::core::Event>("ns"))
      reasons.push_back(event.reason());
    return reasons;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  ReleaseWriter writer_{api_, clock_, events_, api::kClusterGate};
  std::string log_ = "object=ns/web";
};

TEST_F(ReleaseWriterTest, AnAcceptedReleaseRecordsItsEvents) {
  Pod pod = api_.Create<Pod>(Gated());
  Release release = ReleaseWithLabel(pod);
  EXPECT_THAT(Write(pod, release), Is(Written::kReleased));
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
  EXPECT_TRUE(HasLabel("decided"));
  EXPECT_EQ(api_.calls().size(), 1u);
  EXPECT_THAT(Events(), ElementsAre("Decided"));
}

TEST_F(ReleaseWriterTest, APodThatWasNotReleasedIsNotWritten) {
  Pod pod = api_.Create<Pod>(Gated());
  EXPECT_THAT(Write(pod, Release()), Is(Written::kNotGated));
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(ReleaseWriterTest, ARefusalOfAdditionsIsTheCallersToDecideAgain) {
  Pod pod = api_.Create<Pod>(Gated());
  Release release = ReleaseWithLabel(pod);
  release.additions = true;
  api_.FailNext(Error::Invalid("no such toleration"), "PUT");
  EXPECT_THAT(Write(pod, release), Is(Written::kAdditionsRefused));
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 2);
  EXPECT_EQ(api_.calls().size(), 1u);
  EXPECT_THAT(Events(), ElementsAre(api::kReasonGateRemovalFailed));
}

TEST_F(ReleaseWriterTest, AfterARefusalOnlyTheGatesOfTheNewestPodAreRemoved) {
  Pod pod = api_.Create<Pod>(Gated());
  Pod newer = pod;
  (*newer.mutable_metadata()->mutable_labels())["newer"] = "yes";
  api_.Update(newer);
  Release release = ReleaseWithLabel(pod);
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT");
  Result<Written> written = kube::Run(io_, writer_.Write(pod, release, log_));
  EXPECT_THAT(written, Is(Written::kReleased));
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
  EXPECT_FALSE(HasLabel("decided"));
  EXPECT_TRUE(HasLabel("newer"));
  EXPECT_EQ(release.events.size(), 2u) << "one for each gate";
  EXPECT_THAT(Events(), UnorderedElementsAre(api::kReasonGateRemovalFailed, api::kReasonGateRemoved,
                                             api::kReasonGateRemoved));
}

TEST_F(ReleaseWriterTest, TheBareReleaseOfTheLocalGateKeepsTheClusterGate) {
  ReleaseWriter writer(api_, clock_, events_, api::kLocalGate);
  Pod pod = api_.Create<Pod>(Gated());
  Release release = ReleaseWithLabel(pod);
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(kube::Run(io_, writer.Write(pod, release, log_)), Is(Written::kReleased));
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_TRUE(placement::HasGate(Web(), api::kClusterGate));
}

TEST_F(ReleaseWriterTest, AfterARefusalAPodWithoutGatesOrOfAnotherUidIsNotWritten) {
  Pod pod = api_.Create<Pod>(Gated());
  Pod ungated = pod;
  placement::ReleaseBare(ungated, api::kClusterGate);
  api_.Update(ungated);
  Release release = ReleaseWithLabel(pod);
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(Write(pod, release), Is(Written::kNotGated));

  api_.Delete<Pod>({"ns", "web"});
  api_.Create<Pod>(Gated().Uid("another"));
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(Write(pod, release), Is(Written::kNotGated));
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 2);
  EXPECT_EQ(api_.CountCalls("PUT"), 2) << "those that were refused";
}

TEST_F(ReleaseWriterTest, ARefusalOfTheBareReleaseIsAnError) {
  Pod pod = api_.Create<Pod>(Gated());
  Release release = ReleaseWithLabel(pod);
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 2);
  EXPECT_THAT(Write(pod, release), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 2);
}

TEST_F(ReleaseWriterTest, ConflictsAndOutagesAreErrorsWithoutAnEvent) {
  Pod pod = api_.Create<Pod>(Gated());
  Release release = ReleaseWithLabel(pod);
  for (Error error :
       {Error::Conflict("newer"), Error::Unavailable("503"), Error::NotFound("no such pod")}) {
    api_.FailNext(error, "PUT");
    EXPECT_THAT(Write(pod, release), FailsWith(error.code()));
  }
  EXPECT_EQ(api_.calls().size(), 3u);
  EXPECT_EQ(events_.size(), 0u);
}

TEST_F(ReleaseWriterTest, AFailureIsAnEventOnce) {
  Pod pod = Gated();
  writer_.RecordFailure(pod, Error::Cancelled(""));
  EXPECT_EQ(events_.size(), 0u);
  for (int i = 0; i < 3; ++i) writer_.RecordFailure(pod, Error::Unavailable("503"));
  EXPECT_EQ(events_.size(), 1u);
  writer_.RecordFailure(pod, Error::Unavailable("504"));
  EXPECT_EQ(events_.size(), 2u);
}

}  // namespace
}  // namespace writes

// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/term_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kube/base/task_group.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using coordination::Lease;
using core::Pod;
using testing::HasSubstr;

const ObjectKey kLease{"system", "operator"};
const ObjectKey kPod{"ns", "web"};

// Records the timeouts of the calls.
class RecordingClient final : public Client {
 public:
  explicit RecordingClient(FakeApiServer& api) : api_(api) {}

  // Client
  Async<ApiResponse> Call(ApiRequest request) override {
    timeout_ = request.timeout;
    return api_.Call(std::move(request));
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

  std::chrono::milliseconds timeout_{};

 private:
  FakeApiServer& api_;
};

class TermClientTest : public testing::Test {
 protected:
  TermClientTest() {
    api_.Create(MakePod("web").Build());
    tasks_.Spawn("candidate", Lead());
    Drain(io_);
  }
  ~TermClientTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk()); }

  asio::awaitable<void> Lead() {
    Result<> acquired = co_await elector_.Acquire();
    if (!acquired) co_return;
    lost_ = co_await elector_.Hold();
  }
  // Advances the clock in small steps, and renews.
  void Advance(Duration time) {
    for (Duration passed{}; passed < time; passed += 500ms) {
      clock_.Advance(500ms);
      Drain(io_);
    }
  }
  // A write as a reconcile prepares it.
  Pod Prepare() {
    Result<Pod> pod = kube::Run(io_, Get<Pod>(client_, kPod));
    EXPECT_THAT(pod, IsOk());
    (*pod->mutable_metadata()->mutable_labels())["placed"] = "yes";
    return *pod;
  }
  Result<> Write(const Pod& pod) { return kube::Run(io_, Replace(client_, pod)); }
  bool Written() { return api_.Get<Pod>(kPod)->metadata().labels().contains("placed"); }
  void TakeLease() {
    Lease lease = *api_.Get<Lease>(kLease);
    lease.mutable_spec()->set_holder_identity("b");
    api_.Update(lease);
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  TaskGroup tasks_{io_.get_executor()};
  LeaderElector elector_{api_, clock_, {.ns = "system", .name = "operator", .identity = "a"}};
  std::optional<Result<>> lost_;
  RecordingClient below_{api_};
  TermClient client_{below_, elector_};
};

TEST_F(TermClientTest, ALeaderThatRenewsGoesOn) {
  for (int i = 0; i < 60; ++i) {
    Pod pod = Prepare();
    Advance(9s);
    ASSERT_THAT(Write(pod), IsOk()) << i;
  }
  EXPECT_TRUE(Written());
}

// Nothing of this process runs during the pause, so the write is decided before it and sent after
// it, before the election notices.
TEST_F(TermClientTest, AWriteOfBeforeAPauseIsRefusedAfterIt) {
  Pod pod = Prepare();
  Async<> write = Replace(client_, pod);
  clock_.Advance(20s);
  TakeLease();
  Result<> written = Ok();
  asio::co_spawn(io_, std::move(write),
                 [&](std::exception_ptr, Result<> result) { written = result; });
  Drain(io_);
  ASSERT_THAT(written, FailsWith(Code::kUnavailable, HasSubstr("lease system/operator")));
  EXPECT_TRUE(IsLeaseNotHeld(written.error()));
  EXPECT_FALSE(Written());
  EXPECT_EQ(api_.CountCalls("PUT /api/v1/namespaces/ns/pods"), 0);
  ASSERT_TRUE(lost_);
  EXPECT_THAT(*lost_, FailsWith(Code::kConflict));
  EXPECT_THAT(Write(pod), FailsWith(Code::kUnavailable)) << "the term has ended";
}

TEST_F(TermClientTest, SoIsOneThatNobodyCompetesWith) {
  Pod pod = Prepare();
  clock_.Advance(9'999ms);
  EXPECT_TRUE(elector_.MayWrite());
  clock_.Advance(1ms);
  EXPECT_FALSE(elector_.MayWrite());
  EXPECT_TRUE(elector_.leader()) << "others wait until the Lease has expired";
}

// The Lease was still free after the pause.
TEST_F(TermClientTest, ALeaderThatRenewsAfterAPauseGoesOn) {
  Pod pod = Prepare();
  clock_.Advance(20s);
  EXPECT_FALSE(elector_.MayWrite());
  Drain(io_);
  Advance(1s);
  ASSERT_FALSE(lost_);
  EXPECT_THAT(Write(pod), IsOk());
}

TEST_F(TermClientTest, ALeaderThatHasLostTheLeaseWritesNothingMore) {
  Pod pod = Prepare();
  TakeLease();
  Advance(3s);
  ASSERT_TRUE(lost_);
  EXPECT_THAT(Write(pod), FailsWith(Code::kUnavailable));
  EXPECT_FALSE(Written());
}

TEST_F(TermClientTest, ReadsGoOn) {
  clock_.Advance(1min);
  EXPECT_FALSE(elector_.MayWrite());
  EXPECT_THAT(kube::Run(io_, Get<Pod>(client_, kPod)), IsOk());
  EXPECT_EQ(below_.timeout_, 30s);
  EXPECT_THAT(kube::Run(io_, client_.Watch({.target = "/api/v1/pods?watch=true"})), IsOk());
}

TEST_F(TermClientTest, EveryMethodThatWritesIsRefused) {
  api_.FailNext(Error::Unavailable("not renewed"), "/leases", 1'000);
  clock_.Advance(10s);
  for (Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    ApiRequest request{.method = method, .target = "/api/v1/namespaces/ns/pods/web"};
    EXPECT_THAT(kube::Run(io_, client_.Call(std::move(request))), FailsWith(Code::kUnavailable))
        << MethodName(method);
  }
  EXPECT_EQ(api_.CountCalls("pods"), 0);
}

// The client sends nothing after the timeout.
TEST_F(TermClientTest, AWriteEndsWithTheLease) {
  Pod pod = Prepare();
  clock_.Advance(9s);
  EXPECT_THAT(Write(pod), IsOk());
  EXPECT_EQ(below_.timeout_, 6s);
}

// A refusal of the API server makes the writer remove the gate without a decision.
TEST_F(TermClientTest, ItIsNoRefusalOfTheApiServer) {
  Pod pod = Prepare();
  clock_.Advance(10s);
  Result<> written = Write(pod);
  ASSERT_FALSE(written);
  EXPECT_FALSE(IsRefusal(written.error()));
  EXPECT_FALSE(FailsAgain(written.error()));
  EXPECT_FALSE(written.error().terminal());
}

}  // namespace
}  // namespace kube

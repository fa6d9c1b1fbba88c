// SPDX-License-Identifier: Apache-2.0
// Lists, gets and watches of older states of a FakeStore, and watches that are delayed and cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/fake_watch.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/kinds.h"

namespace kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kHistory = 5;
constexpr size_t kUnread = 4;
const Caller kAnn{.user = "ann"};

class FakeStoreReadsTest : public testing::Test {
 protected:
  ~FakeStoreReadsTest() override {
    for (auto& watch : watches_) watch->Cut(Error::Unavailable("end"));
    Drain(io_);
  }

  // "name=label ..." of the pods at `version`.
  Result<std::string> PodsAt(uint64_t version, const std::string& query = "") {
    Result<ApiResponse> response = store_.ReadAt(
        version, kAnn, {.target = kPods.Path("ns") + query, .accept = std::string(kProtobuf)});
    if (!response) return response.error();
    Result<RawList> list = DecodeProtobufList(response->body);
    if (!list) return list.error();
    token_ = list->continue_token;
    listed_version_ = list->resource_version;
    std::string pods;
    for (const std::string& item : list->items) pods += Text(DecodeBare<core::Pod>(item).value());
    return pods;
  }
  static std::string Text(const core::Pod& pod) {
    auto label = pod.metadata().labels().find("a");
    bool has = label != pod.metadata().labels().end();
    return pod.metadata().name() + "=" + (has ? label->second : "") + " ";
  }
  uint64_t Write(const std::string& name, const std::string& label) {
    core::Pod pod = MakePod(name).Label("a", label);
    bool exists = calls_.Get<core::Pod>({"ns", name}).has_value();
    if (exists) {
      calls_.Update(pod);
    } else {
      calls_.Create(pod);
    }
    return store_.resource_version();
  }
  uint64_t Delete(const std::string& name) {
    calls_.Delete<core::Pod>({"ns", name});
    return store_.resource_version();
  }

  // Opens a watch that is read as soon as its frames are released; they are added to seen_.
  std::shared_ptr<FakeWatch> Watch(const std::string& query, WatchOptions options) {
    ApiRequest request{.target = kPods.Path("ns") + "?watch=true&" + query,
                       .accept = std::string(kWatchAccept<core::Pod>)};
    Result<std::shared_ptr<FakeWatch>> watch = store_.Watch(request, options);
    EXPECT_THAT(watch, IsOk());
    watches_.push_back(*watch);
    auto read = [](std::shared_ptr<FakeWatch> watch,
                   std::vector<std::string>* seen) -> asio::awaitable<void> {
      std::unique_ptr<WatchStream> stream = MakeFakeStream(std::move(watch));
      while (true) {
        Result<std::optional<std::string>> frame = co_await stream->Next();
        if (!frame) seen->push_back(frame.error().message());
        if (frame && !*frame) seen->push_back("end");
        if (!frame || !*frame) co_return;
        Result<WatchEvent<core::Pod>> event = DecodeFrame<core::Pod>(**frame);
        seen->push_back(event ? event->type + " " + Text(event->object) : event.error().message());
      }
    };
    asio::co_spawn(io_, read(*watch, &seen_), [](std::exception_ptr) {});
    return *watch;
  }
  // What was read since the last call.
  std::vector<std::string> Seen() {
    Drain(io_);
    return std::exchange(seen_, {});
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeStore store_{clock_, {.history = kHistory, .unread_frames = kUnread}};
  TrustedCalls calls_{store_};
  std::string token_;
  std::string listed_version_;
  std::vector<std::shared_ptr<FakeWatch>> watches_;
  std::vector<std::string> seen_;
};

TEST_F(FakeStoreReadsTest, ReadsOlderStates) {
  uint64_t empty = store_.resource_version();
  uint64_t first = Write("web", "1");
  uint64_t second = Write("web", "2");
  uint64_t third = Delete("web");
  EXPECT_THAT(PodsAt(empty).value(), "");
  EXPECT_THAT(PodsAt(first).value(), "web=1 ");
  EXPECT_EQ(listed_version_, std::to_string(first));
  EXPECT_THAT(PodsAt(second).value(), "web=2 ");
  EXPECT_THAT(PodsAt(third).value(), "");
  EXPECT_THAT(PodsAt(third + 100).value(), "") << "the newest";
  ApiRequest get{.target = kPods.Path("ns", "web"), .accept = std::string(kProtobuf)};
  Result<ApiResponse> pod = store_.ReadAt(first, kAnn, get);
  ASSERT_THAT(pod, IsOk());
  EXPECT_EQ(Decode<core::Pod>(pod->body)->metadata().resource_version(), std::to_string(first));
  EXPECT_THAT(store_.ReadAt(third, kAnn, get), FailsWith(Code::kNotFound));
}

TEST_F(FakeStoreReadsTest, AReplicaDoesNotKnowNewerVersions) {
  uint64_t first = Write("web", "1");
  uint64_t second = Write("web", "2");
  EXPECT_THAT(PodsAt(first, "?resourceVersion=0").value(), "web=1 ");
  Result<std::string> refused = PodsAt(first, "?resourceVersion=" + std::to_string(second));
  ASSERT_THAT(refused, FailsWith(Code::kUnavailable));
  EXPECT_TRUE(refused.error().HasCause("ResourceVersionTooLarge"));
}

TEST_F(FakeStoreReadsTest, PagesAreOfOneState) {
  Write("a", "1");
  Write("b", "1");
  uint64_t version = Write("c", "1");
  EXPECT_EQ(PodsAt(version, "?limit=1").value(), "a=1 ");
  Write("b", "2");
  Delete("c");
  std::string more = "?limit=2&continue=" + token_;
  EXPECT_EQ(PodsAt(store_.resource_version(), more).value(), "b=1 c=1 ");
  EXPECT_EQ(listed_version_, std::to_string(version));
}

TEST_F(FakeStoreReadsTest, HistoryIsBounded) {
  uint64_t first = Write("web", "1");
  for (size_t i = 1; i < kHistory; ++i) Write("web", std::to_string(i + 1));
  EXPECT_THAT(PodsAt(first - 1).value(), "");
  Write("web", "last");
  EXPECT_THAT(PodsAt(first - 1), FailsWith(Code::kExpired));
  EXPECT_THAT(PodsAt(first).value(), "web=1 ");
  Watch("resourceVersion=" + std::to_string(first - 1), {});
  EXPECT_THAT(Seen(), ElementsAre(HasSubstr("too old"), "end"));
}

TEST_F(FakeStoreReadsTest, CompactionLeavesWatchesOpen) {
  uint64_t first = Write("web", "1");
  Watch("resourceVersion=" + std::to_string(first), {});
  uint64_t second = Write("web", "2");
  store_.Compact(second);
  EXPECT_THAT(PodsAt(first), FailsWith(Code::kExpired));
  EXPECT_THAT(PodsAt(second).value(), "web=2 ");
  Write("web", "3");
  EXPECT_THAT(Seen(), ElementsAre("MODIFIED web=2 ", "MODIFIED web=3 "));
}

TEST_F(FakeStoreReadsTest, AWatchBeginsAtTheReplicasVersion) {
  uint64_t first = Write("web", "1");
  Write("web", "2");
  Write("other", "1");
  std::shared_ptr<FakeWatch> watch =
      Watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            {.at = first, .held = true});
  EXPECT_THAT(Seen(), IsEmpty());
  watch->ReleaseThrough(first);
  EXPECT_THAT(Seen(), ElementsAre("ADDED web=1 ", "BOOKMARK = "));
  watch->ReleaseThrough(store_.resource_version());
  EXPECT_THAT(Seen(), ElementsAre("MODIFIED web=2 ", "ADDED other=1 "));
}

TEST_F(FakeStoreReadsTest, HeldFramesWaitForTheirRelease) {
  uint64_t begin = store_.resource_version();
  std::string from = "resourceVersion=" + std::to_string(begin);
  std::shared_ptr<FakeWatch> slow = Watch(from, {.held = true});
  Write("a", "1");
  Write("b", "1");
  Write("c", "1");
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_EQ(slow->held(), 3u);
  slow->Release(1);
  EXPECT_THAT(Seen(), ElementsAre("ADDED a=1 "));
  Watch(from, {});
  EXPECT_THAT(Seen(), ElementsAre("ADDED a=1 ", "ADDED b=1 ", "ADDED c=1 "))
      << "another one is not delayed";
  slow->End(std::nullopt);
  EXPECT_THAT(Seen(), IsEmpty());
  slow->Release(10);
  EXPECT_THAT(Seen(), ElementsAre("ADDED b=1 ", "ADDED c=1 ", "end"));
}

TEST_F(FakeStoreReadsTest, ACutLosesWhatWasNotRead) {
  std::shared_ptr<FakeWatch> watch = Watch("", {.held = true});
  Write("a", "1");
  Write("b", "1");
  watch->Release(1);
  EXPECT_THAT(Seen(), ElementsAre("ADDED a=1 "));
  watch->Cut(Error::Unavailable("reset"));
  EXPECT_THAT(Seen(), ElementsAre("reset"));
  Write("c", "1");
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_EQ(store_.open_watches(), 0);
}

TEST_F(FakeStoreReadsTest, AWatchThatIsNotReadEnds) {
  std::shared_ptr<FakeWatch> watch = Watch("", {.held = true});
  for (size_t i = 0; i < kUnread; ++i) Write("web", std::to_string(i));
  EXPECT_FALSE(watch->ended());
  Write("web", "last");
  EXPECT_TRUE(watch->ended());
  EXPECT_EQ(watch->held(), kUnread);
}

TEST_F(FakeStoreReadsTest, ADeletedEventHasTheVersionOfTheDeletion) {
  uint64_t first = Write("web", "1");
  ApiRequest request{.target =
                         kPods.Path("ns") + "?watch=true&resourceVersion=" + std::to_string(first)};
  Result<std::shared_ptr<FakeWatch>> watch = store_.Watch(request, {});
  ASSERT_THAT(watch, IsOk());
  watches_.push_back(*watch);
  uint64_t deletion = Delete("web");
  Result<std::optional<std::string>> frame = kube::Run(io_, (*watch)->Next());
  ASSERT_THAT(frame, IsOk());
  Json event = MustParseJson(**frame);
  EXPECT_EQ(StringAt(event, "type"), "DELETED");
  EXPECT_EQ(StringAt(event, "object.metadata.resourceVersion"), std::to_string(deletion));
}

}  // namespace
}  // namespace kube

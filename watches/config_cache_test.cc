// SPDX-License-Identifier: Apache-2.0
#include "watches/config_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <string>
#include <vector>

#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "watches/config_lists.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::IsOk;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

// A config of about `bytes` bytes. Of two, the one of the lower priority is older.
api::MakeConfig Large(const std::string& name, const std::string& ns, int priority, size_t bytes) {
  api::MakeConfig config(name, ns);
  return config.Priority(priority).Created(1'000 + priority).Prefer("arm64", 50).Sized(bytes);
}

class ConfigCacheTest : public testing::Test {
 protected:
  ConfigCacheTest() {
    configs_.OnChange([this](const std::string& ns) { changed_.push_back(ns); });
    tasks_.Spawn("configs", configs_.Run());
    kube::Drain(io_);
  }
  ~ConfigCacheTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  void Create(const api::MakeConfig& config) {
    api_.CreateJson(kube::ResourceOf<PodPlacementConfig>::value, config.Build());
    kube::Drain(io_);
  }
  void Delete(const std::string& ns, const std::string& name) {
    api_.Delete<PodPlacementConfig>({ns, name});
    kube::Drain(io_);
  }
  // The names of those that are in force.
  static std::vector<std::string> InForce(const ConfigCache::Configs& configs) {
    std::vector<std::string> names;
    for (const PodPlacementConfig& config : *configs) {
      if (config.MayPrefer()) names.push_back(config.metadata().name());
    }
    return names;
  }
  // A caller of lists.Read(), counted when it has its list.
  kube::asio::awaitable<void> Read(ConfigLists& lists, std::string ns) {
    auto listed = co_await lists.Read(ns, clock_.Now() + 5s);
    EXPECT_THAT(listed, IsOk());
    ++done_;
    ++done_of_[ns];
  }
  std::string ProblemOf(const std::string& ns, const std::string& name) {
    for (const PodPlacementConfig& config : *configs_.In(ns)) {
      if (config.metadata().name() == name) return Describe(config.problems);
    }
    return "unknown";
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  ConfigCache configs_{api_, clock_, ""};
  std::vector<std::string> changed_;
  int done_ = 0;
  std::map<std::string, int> done_of_;  // by namespace
};

TEST_F(ConfigCacheTest, ParsedConfigsAreSharedUntilOneChanges) {
  Create(api::MakeConfig("a", "shop").Priority(1).Prefer("arm64", 50));
  Create(api::MakeConfig("b", "shop").Priority(2).Prefer("arm64", 50));
  ConfigCache::Configs first = configs_.In("shop");
  EXPECT_THAT(InForce(first), ElementsAre("b", "a"));
  EXPECT_EQ(configs_.In("shop"), first);
  Create(api::MakeConfig("c", "blog"));
  EXPECT_EQ(configs_.In("shop"), first) << "another namespace";
  EXPECT_FALSE(configs_.MayChangePods("blog"));
  EXPECT_THAT(configs_.Namespaces(), ElementsAre("blog", "shop"));
  Delete("shop", "b");
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("a"));
  EXPECT_THAT(InForce(first), ElementsAre("b", "a"));
  Delete("shop", "a");
  EXPECT_FALSE(configs_.Has("shop"));
  EXPECT_THAT(*configs_.In("shop"), IsEmpty());
}

TEST_F(ConfigCacheTest, OfAFullNamespaceTheOldestStayInForce) {
  for (int i = 0; i < 6; ++i) Create(Large("c" + std::to_string(i), "shop", i, 60'000));
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("c3", "c2", "c1", "c0"));
  EXPECT_EQ(configs_.LeftOut(), 2u);
  EXPECT_THAT(ProblemOf("shop", "c5"), HasSubstr("this namespace have more than 262144 bytes"));
  const PodPlacementConfig left_out = configs_.In("shop")->front();
  EXPECT_EQ(left_out.metadata().name(), "c5");
  EXPECT_TRUE(left_out.too_large);
  EXPECT_FALSE(left_out.spec.label_selector) << "costs no memory";

  Delete("shop", "c0");
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("c4", "c3", "c2", "c1"));
}

TEST_F(ConfigCacheTest, OfAllNamespacesTheOldestStayInForce) {
  // 34 of them fit into the budget of all.
  for (int i = 0; i < 36; ++i)
    Create(Large("c", "ns-" + std::to_string(i / 4 * 4) + "-" + std::to_string(i % 4), i, 60'000));
  EXPECT_EQ(configs_.LeftOut(), 2u);
  EXPECT_TRUE(configs_.MayChangePods("ns-32-1"));
  EXPECT_FALSE(configs_.MayChangePods("ns-32-2"));
  EXPECT_THAT(ProblemOf("ns-32-3", "c"), HasSubstr("all namespaces have more than 2097152 bytes"));

  changed_.clear();
  Delete("ns-0-0", "c");
  EXPECT_THAT(changed_, ElementsAre("ns-0-0", "ns-32-2", "ns-32-2")) << "has room, is read again";
  EXPECT_THAT(InForce(configs_.In("ns-32-2")), ElementsAre("c"));
}

// Which others there are, only the operator and the cluster controller know.
TEST_F(ConfigCacheTest, ACacheOfOneNamespaceFollowsTheStatusForTheBudgetOfAll) {
  for (int i = 0; i < 40; ++i)
    Create(Large("c", "ns-" + std::to_string(i), /*priority=*/0, 60'000));
  api::MakeConfig config = Large("late", "shop", 1, 60'000);
  Create(config);
  const std::string problem = ProblemOf("shop", "late");
  EXPECT_THAT(problem, HasSubstr("all namespaces have more than"));

  ConfigCache shop(api_, clock_, "shop");
  ConfigLists lists(api_, clock_);
  kube::TaskGroup tasks(io_.get_executor());
  tasks.Spawn("shop", shop.Run());
  auto in_force = [&] {
    kube::Drain(io_);
    auto listed = kube::Run(io_, lists.Read("shop", clock_.Now() + 5s));
    EXPECT_THAT(listed, IsOk());
    std::vector<std::string> names = InForce(shop.In("shop"));
    EXPECT_EQ(InForce(*listed), names);
    return names;
  };
  EXPECT_THAT(in_force(), ElementsAre("late")) << "nobody has said that it is not";
  auto say = [&](int64_t generation, const std::string& message) {
    config.Set("/status/conditions",
               kube::Json::array({{{"type", "Degraded"},
                                   {"status", "True"},
                                   {"reason", "TooLarge"},
                                   {"message", message},
                                   {"observedGeneration", generation},
                                   {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}));
    api_.UpdateJson(kube::ResourceOf<PodPlacementConfig>::value, config.Build());
  };
  say(1, problem);
  EXPECT_THAT(in_force(), IsEmpty());
  say(0, problem);
  EXPECT_THAT(in_force(), ElementsAre("late")) << "of an older spec";
  say(1, "another problem");
  EXPECT_THAT(in_force(), ElementsAre("late"));
  EXPECT_THAT(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), IsOk());
}

TEST_F(ConfigCacheTest, AFailedReadOfASpecIsRetried) {
  for (int i = 0; i < 5; ++i) Create(Large("c" + std::to_string(i), "shop", i, 60'000));
  EXPECT_EQ(configs_.LeftOut(), 1u);
  api_.FailNext(kube::Error::Unavailable("503"), "GET", 2);
  Delete("shop", "c0");
  EXPECT_THAT(ProblemOf("shop", "c4"), HasSubstr("there is room again"));
  EXPECT_EQ(configs_.LeftOut(), 1u);
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(1s);
    kube::Drain(io_);
  }
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("c4", "c3", "c2", "c1"));
  EXPECT_EQ(configs_.LeftOut(), 0u);
}

TEST_F(ConfigCacheTest, OneThatIsTooLargeIsNotInForceAndDisplacesNoOther) {
  Create(Large("huge", "shop", 0, 70'000));
  for (int i = 1; i < 5; ++i) Create(Large("c" + std::to_string(i), "shop", i, 60'000));
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("c4", "c3", "c2", "c1"));
  EXPECT_THAT(ProblemOf("shop", "huge"), HasSubstr("at most 65536 are allowed"));
  EXPECT_GT(configs_.In("shop")->back().spec_bytes, 65'536u);
}

TEST_F(ConfigCacheTest, KeepsOnlyTheMetadataThatIsUsed) {
  api::MakeConfig config("a", "shop");
  config.Prefer("arm64", 50).Annotation("note", std::string(200'000, 'x'));
  for (int i = 0; i < 1'000; ++i) config.Label("l" + std::to_string(i), "x");
  for (int i = 0; i < 1'000; ++i) config.Finalizer("example.com/f" + std::to_string(i));
  Create(config);
  const PodPlacementConfig kept = configs_.In("shop")->front();
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("a"));
  EXPECT_LT(kept.metadata().ByteSizeLong(), 1'000u);
  EXPECT_EQ(kept.metadata().finalizers_size(), 4);
}

// Nothing but the budget decides, whatever arrived before.
TEST_F(ConfigCacheTest, AmongManyTheOldestAreInForceInWhateverOrderTheyArrive) {
  for (int i = 0; i < 40; ++i)
    Create(Large("c" + std::to_string(i % 4), "ns-" + std::to_string(i / 4), i % 4, 60'000));
  EXPECT_EQ(configs_.LeftOut(), 40u - 34u);
  Create(Large("old", "late", 0, 60'000).Created(1));
  EXPECT_EQ(configs_.LeftOut(), 41u - 34u);
  EXPECT_THAT(InForce(configs_.In("late")), ElementsAre("old"));
  Create(Large("young", "late", 1, 60'000).Created(9'000));
  EXPECT_THAT(ProblemOf("late", "young"), HasSubstr("all namespaces have more than"));
  for (int i = 0; i < 40; ++i) Delete("ns-" + std::to_string(i / 4), "c" + std::to_string(i % 4));
  EXPECT_EQ(configs_.LeftOut(), 0u);
  EXPECT_THAT(InForce(configs_.In("late")), ElementsAre("young", "old"));
}

TEST_F(ConfigCacheTest, SmallConfigsOfOthersDisplaceNoOlderOne) {
  for (int i = 0; i < 12 * 256; ++i) {
    api::MakeConfig config("c" + std::to_string(i / 12), "ns-" + std::to_string(i % 12));
    config.Priority(i / 12).Created(2'000).Prefer("arm64", 50);
    for (int f = 0; f < 8; ++f)
      config.Finalizer(std::to_string(f) + std::string(251, 'x') + "/" + std::string(63, 'y'));
    api_.CreateJson(kube::ResourceOf<PodPlacementConfig>::value, config.Build());
  }
  kube::Drain(io_);
  EXPECT_EQ(configs_.LeftOut(), 0u);
  Create(Large("old", "z", 0, 20'000).Created(1));
  EXPECT_THAT(InForce(configs_.In("z")), ElementsAre("old"));
  EXPECT_EQ(configs_.LeftOut(), 0u);
}

TEST_F(ConfigCacheTest, ASmallConfigIsInForceWhateverOthersHave) {
  for (int i = 0; i < 40; ++i)
    Create(Large("c", "ns-" + std::to_string(i), /*priority=*/0, 60'000));
  Create(Large("first", "shop", 1, 1'000));
  Create(Large("second", "shop", 2, 1'000));
  Create(Large("third", "shop", 3, 4'000));
  EXPECT_THAT(InForce(configs_.In("shop")), ElementsAre("second", "first"));
  EXPECT_THAT(ProblemOf("shop", "third"), HasSubstr("all namespaces have more than"));
}

TEST_F(ConfigCacheTest, ListsAreBoundedAsTheCacheIs) {
  for (int i = 0; i < 6; ++i) Create(Large("c" + std::to_string(i), "shop", i, 60'000));
  Create(Large("huge", "shop", 9, 70'000));
  Create(api::MakeConfig("a", "blog").Prefer("arm64", 50));
  ConfigLists lists(api_, clock_);
  kube::Result<ConfigCache::Configs> shop = kube::Run(io_, lists.Read("shop", clock_.Now() + 5s));
  ASSERT_THAT(shop, IsOk());
  EXPECT_THAT(InForce(*shop), ElementsAre("c3", "c2", "c1", "c0"));
  EXPECT_EQ((*shop)->size(), 7u);
  EXPECT_GT((*shop)->front().spec_bytes, 65'536u);
  kube::Result<ConfigCache::Configs> blog = kube::Run(io_, lists.Read("blog", clock_.Now() + 5s));
  ASSERT_THAT(blog, IsOk());
  EXPECT_THAT(InForce(*blog), ElementsAre("a"));
}

// One of a namespace at a time, which all callers share.
TEST_F(ConfigCacheTest, ConcurrentCallersShareLists) {
  Create(api::MakeConfig("a", "shop"));
  Create(api::MakeConfig("a", "blog"));
  ConfigLists lists(api_, clock_);
  int lists_begun = 0;
  api_.BeforeEach([&](const std::string&) { ++lists_begun; });
  kube::TaskGroup readers(io_.get_executor());
  for (int i = 0; i < 10; ++i) {
    readers.Spawn("shop", Read(lists, "shop"));
    readers.Spawn("blog", Read(lists, "blog"));
  }
  kube::Drain(io_);
  EXPECT_EQ(done_, 20);
  EXPECT_EQ(lists_begun, 4) << "each namespace's first call, and one for all others";
  EXPECT_THAT(kube::Run(io_, readers.Stop(kube::RealClock(), 5s)), IsOk());
}

TEST_F(ConfigCacheTest, ASlowListOfOneNamespaceDelaysNoOther) {
  Create(api::MakeConfig("a", "hog"));
  Create(api::MakeConfig("a", "shop"));
  kube::SlowClient slow(api_);
  slow.Hold("namespaces/hog/");
  ConfigLists lists(slow, clock_);
  kube::TaskGroup readers(io_.get_executor());
  for (int i = 0; i < 10; ++i) readers.Spawn("hog", Read(lists, "hog"));
  kube::Drain(io_);
  readers.Spawn("shop", Read(lists, "shop"));
  kube::Drain(io_);
  EXPECT_EQ(done_of_["shop"], 1);
  EXPECT_EQ(done_of_["hog"], 0);
  slow.Release();
  kube::Drain(io_);
  EXPECT_EQ(done_of_["hog"], 10);
  EXPECT_THAT(kube::Run(io_, readers.Stop(kube::RealClock(), 5s)), IsOk());
}

// Lists of that many namespaces take the memory.
TEST_F(ConfigCacheTest, AFewListsAreReadAtATime) {
  kube::SlowClient slow(api_);
  slow.Hold("podplacementconfigs");
  ConfigLists lists(slow, clock_);
  int asked = 0;
  api_.BeforeEach([&](const std::string&) { ++asked; });
  kube::TaskGroup readers(io_.get_executor());
  for (int i = 0; i < 20; ++i) readers.Spawn("list", Read(lists, "ns-" + std::to_string(i)));
  kube::Drain(io_);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(slow.waiting(), 16);
  slow.Release();
  kube::Drain(io_);
  EXPECT_EQ(done_, 20);
  EXPECT_THAT(kube::Run(io_, readers.Stop(kube::RealClock(), 5s)), IsOk());
}

TEST_F(ConfigCacheTest, LongListsDelayNoShortOne) {
  const std::vector<std::string> hogs = {"hog-0", "hog-1", "hog-2", "hog-3"};
  kube::SlowClient slow(api_);
  ConfigLists lists(slow, clock_);
  for (const std::string& hog : hogs) {
    Create(api::MakeConfig("a", hog).Annotation("fill", std::string(1'100'000, 'x')));
    EXPECT_THAT(kube::Run(io_, lists.Read(hog, clock_.Now() + 5s)), IsOk());
  }
  slow.Hold("namespaces/hog-");
  kube::TaskGroup readers(io_.get_executor());
  for (const std::string& hog : hogs) readers.Spawn("hog", Read(lists, hog));
  kube::Drain(io_);
  EXPECT_EQ(slow.waiting(), 1);
  readers.Spawn("shop", Read(lists, "shop"));
  kube::Drain(io_);
  EXPECT_EQ(done_, 1);
  slow.Release();
  kube::Drain(io_);
  EXPECT_EQ(done_, 5);
  EXPECT_THAT(kube::Run(io_, readers.Stop(kube::RealClock(), 5s)), IsOk());
}

TEST_F(ConfigCacheTest, AListEndsAtTheDeadlineOfItsCaller) {
  for (int i = 0; i < 5; ++i) Create(api::MakeConfig("c" + std::to_string(i), "shop").Priority(i));
  ConfigLists lists(api_, clock_);
  int pages = 0;
  api_.BeforeEach([&](const std::string&) {
    if (++pages == 1) clock_.Advance(5s);
  });
  EXPECT_THAT(kube::Run(io_, lists.Read("shop", clock_.Now() + 5s)),
              kube::FailsWith(kube::Code::kDeadlineExceeded));
  EXPECT_EQ(pages, 1);
  EXPECT_THAT(kube::Run(io_, lists.Read("shop", clock_.Now() + 5s)), IsOk());
}

}  // namespace
}  // namespace watches

// SPDX-License-Identifier: Apache-2.0
#include "kube/http/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/http/testing/fake_name_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Endpoints = std::vector<asio::ip::tcp::endpoint>;

class ResolveTest : public ::testing::Test {
 protected:
  ~ResolveTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk()); }

  Result<Endpoints> Find(const std::string& host, const FakeNameServer& names,
                         Duration timeout = 10s) {
    return kube::Run(
        io_, Resolve(host, "443", names.servers(), RealClock(), RealClock().Now() + timeout));
  }
  std::vector<std::string> Addresses(const std::string& host, const FakeNameServer& names) {
    Result<Endpoints> found = Find(host, names);
    EXPECT_THAT(found, IsOk());
    std::vector<std::string> texts;
    if (!found) return texts;
    for (const auto& endpoint : *found) {
      EXPECT_EQ(endpoint.port(), 443);
      texts.push_back(endpoint.address().to_string());
    }
    return texts;
  }
  // Starts a lookup in the background.
  asio::awaitable<void> Ask(std::string host, NameServers servers, Duration timeout) {
    std::string port = "443";
    TimePoint deadline = RealClock().Now() + timeout;
    Result<Endpoints> found = co_await Resolve(std::move(host), std::move(port), std::move(servers),
                                               RealClock(), deadline);
    ended_.push_back(found ? Code::kNotFound : found.error().code());
  }

  asio::io_context io_{1};
  TaskGroup tasks_{io_.get_executor()};
  FakeNameServer names_{io_.get_executor()};
  std::vector<Code> ended_;
};

TEST_F(ResolveTest, AnIpAddressNeedsNoLookup) {
  EXPECT_THAT(Addresses("10.1.2.3", names_), ElementsAre("10.1.2.3"));
  EXPECT_THAT(Addresses("fd00::1", names_), ElementsAre("fd00::1"));
  EXPECT_THAT(names_.asked(), IsEmpty());
}

TEST_F(ResolveTest, NamesHaveAddressesOfBothFamilies) {
  names_.Add("registry.test", {"192.0.2.1", "192.0.2.2", "2001:db8::1"});
  EXPECT_THAT(Addresses("registry.test", names_),
              UnorderedElementsAre("192.0.2.1", "192.0.2.2", "2001:db8::1"));
  names_.Add("registry.test", {"192.0.2.3"});
  EXPECT_THAT(Addresses("registry.test", names_), ElementsAre("192.0.2.3"));
}

TEST_F(ResolveTest, TheHostsFileComesBeforeNameServers) {
  names_.Add("localhost", {"192.0.2.1"});
  names_.IgnoreQueriesFor("");
  for (const std::string& address : Addresses("localhost", names_)) {
    EXPECT_TRUE(asio::ip::make_address(address).is_loopback()) << address;
  }
  EXPECT_THAT(names_.asked(), IsEmpty());
}

// The resolv.conf of a pod.
TEST_F(ResolveTest, SearchDomainsApplyToNamesOfFewDots) {
  FakeNameServer names(io_.get_executor(),
                       "search ns.svc.cluster.local svc.cluster.local\noptions ndots:2");
  names.Add("web.ns.svc.cluster.local", {"10.96.0.1"});
  names.Add("registry.ops.svc.cluster.local", {"10.96.0.2"});
  names.Add("registry-1.docker.io", {"192.0.2.1"});
  EXPECT_THAT(Addresses("web", names), ElementsAre("10.96.0.1"));
  EXPECT_THAT(Addresses("registry.ops", names), ElementsAre("10.96.0.2"));
  size_t before = names.asked().size();
  EXPECT_THAT(Addresses("registry-1.docker.io", names), ElementsAre("192.0.2.1"));
  EXPECT_EQ(names.asked().size(), before + 2) << "A and AAAA of the name as it is";
}

TEST_F(ResolveTest, ANameThatDoesNotExistFailsAtOnce) {
  EXPECT_THAT(Find("nowhere.test", names_, 500ms),
              FailsWith(Code::kUnavailable, HasSubstr("nowhere.test")));
  EXPECT_THAT(Find(std::string(300, 'x') + ".test", names_, 500ms), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Find("a..b", names_, 500ms), FailsWith(Code::kUnavailable));
}

TEST_F(ResolveTest, ASilentNameServerFailsTheLookupAtItsDeadline) {
  names_.IgnoreQueriesFor("");
  EXPECT_THAT(Find("registry.test", names_, 50ms),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("registry.test")));
}

TEST_F(ResolveTest, ALostQueryIsRetried) {
  names_.Add("registry.test", {"192.0.2.1"});
  names_.IgnoreQueriesFor("registry.test");
  tasks_.Spawn("ask", Ask("registry.test", names_.servers(), 10s));
  ASSERT_TRUE(RunUntil(io_, [&] { return names_.asked().size() == 2; }));
  names_.IgnoreQueriesFor("nothing");
  ASSERT_TRUE(RunUntil(io_, [&] { return !ended_.empty(); }));
  EXPECT_THAT(ended_, ElementsAre(Code::kNotFound)) << "an address";
}

// A hostile client may name a hundred such servers.
TEST_F(ResolveTest, UnansweredLookupsDelayNoOthers) {
  FakeNameServer dead(io_.get_executor());
  dead.IgnoreQueriesFor("");
  names_.Add("registry.test", {"192.0.2.1"});
  names_.IgnoreQueriesFor(".dead.test");
  for (int i = 0; i < 50; ++i) {
    std::string number = std::to_string(i);
    tasks_.Spawn("dead", Ask("r" + number + ".test", dead.servers(), 20s));
    tasks_.Spawn("dead", Ask("r" + number + ".dead.test", names_.servers(), 20s));
  }
  ASSERT_TRUE(
      RunUntil(io_, [&] { return dead.asked().size() >= 100 && names_.asked().size() >= 100; }));
  EXPECT_THAT(Addresses("registry.test", names_), ElementsAre("192.0.2.1"));
  EXPECT_THAT(Find("localhost", dead), IsOk());
  EXPECT_THAT(ended_, IsEmpty()) << "an unanswered lookup had to end first";
  // Cancelling the callers cancels the lookups.
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk());
  EXPECT_THAT(ended_, ::testing::Each(Code::kCancelled));
  EXPECT_EQ(ended_.size(), 100u);
}

TEST_F(ResolveTest, TheNumberOfLookupsIsBounded) {
  names_.IgnoreQueriesFor("");
  for (size_t i = 0; i < kMaxLookups; ++i)
    tasks_.Spawn("ask", Ask("silent.test", names_.servers(), 20s));
  Drain(io_);
  EXPECT_THAT(Find("registry.test", names_), FailsWith(Code::kUnavailable, HasSubstr("too many")));
  EXPECT_THAT(Addresses("10.1.2.3", names_), ElementsAre("10.1.2.3"));
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk());
  names_.IgnoreQueriesFor("nothing");
  names_.Add("registry.test", {"192.0.2.1"});
  EXPECT_THAT(Addresses("registry.test", names_), ElementsAre("192.0.2.1"));
}

}  // namespace
}  // namespace kube

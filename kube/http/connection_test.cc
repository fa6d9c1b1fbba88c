// SPDX-License-Identifier: Apache-2.0
#include "kube/http/connection.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/clock.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

// A process has dozens of watches.
TEST(ConnectionTest, WaitsWithASmallBufferAfterLargeAndSmallReads) {
  asio::io_context io{1};
  const std::string large(100'000, 'l');
  const std::string small = "small";
  ScriptedServer server(io.get_executor(), {}, [&](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.Write(large);
    (void)co_await peer.ReadSome();
    co_await peer.Write(small);
    co_await peer.UntilClosed();
  });
  Route route{.host = "127.0.0.1", .port = server.url().port};
  Result<std::unique_ptr<Connection>> connected =
      kube::Run(io, Connect(route, RealClock(), RealClock().Now() + 10s));
  ASSERT_THAT(connected, IsOk());
  Connection& connection = **connected;
  connection.ExpireAfter(10s);

  for (size_t got = 0; got < large.size();) {
    ASSERT_THAT(kube::Run(io, connection.Read()), IsOk());
    got += connection.buffer().size();
    connection.buffer().consume(connection.buffer().size());
  }
  ASSERT_THAT(kube::Run(io, connection.Write("next")), IsOk());
  ASSERT_THAT(kube::Run(io, connection.Read()), IsOk());
  EXPECT_EQ(connection.buffer().size(), small.size());
  connection.buffer().consume(small.size());
  connection.ExpireAfter(1ms);
  EXPECT_THAT(kube::Run(io, connection.Read()), FailsWith(Code::kDeadlineExceeded));
  EXPECT_LE(connection.buffer().capacity(), 4096u);
}

}  // namespace
}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// Real sockets on loopback. A socket of the test blocks for kPatience at most.
#include "e2e/chaos/proxy/fault_proxy.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace e2e {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr auto kPatience = 10s;
// Long enough that what is not held would have arrived.
constexpr auto kSilence = 200ms;

std::chrono::milliseconds Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start);
}

// A blocking socket with a timeout for each read.
class End {
 public:
  explicit End(tcp::socket socket) : socket_(std::move(socket)) { Limit(kPatience); }

  void Send(const std::string& text) {
    error_code ec;
    boost::asio::write(socket_, boost::asio::buffer(text), ec);
    EXPECT_FALSE(ec) << ec.message();
  }
  // `size` bytes, or "!" and why there are none.
  std::string Receive(size_t size) {
    std::string text(size, '\0');
    size_t read = 0;
    while (read < size) {
      ssize_t more = recv(socket_.native_handle(), text.data() + read, size - read, 0);
      if (more == 0) return "!end";
      if (more < 0) return errno == ECONNRESET ? "!reset" : "!nothing";
      read += static_cast<size_t>(more);
    }
    return text;
  }
  // Whether nothing arrives within kSilence.
  bool IsSilent() {
    Limit(kSilence);
    std::string text = Receive(1);
    Limit(kPatience);
    return text == "!nothing";
  }
  void Close() { socket_.close(); }

 private:
  void Limit(std::chrono::milliseconds limit) {
    timeval value{.tv_sec = limit.count() / 1000, .tv_usec = (limit.count() % 1000) * 1000};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  }

  tcp::socket socket_;
};

class FaultProxyTest : public testing::Test {
 protected:
  // A proxy in front of `first_` and `second_`.
  void SetUp() override {
    auto proxy = FaultProxy::Listen(thread_, AddressAt("127.0.0.1", 0),
                                    {first_.local_endpoint(), second_.local_endpoint()});
    ASSERT_TRUE(proxy) << proxy.error();
    proxy_ = std::move(*proxy);
  }

  End Connect() {
    tcp::socket socket(io_);
    socket.connect(proxy_->address());
    return End(std::move(socket));
  }
  static End Accept(tcp::acceptor& target) { return End(target.accept()); }
  // A connection to the first target, which forwards.
  std::pair<End, End> ConnectFirst() {
    End client = Connect();
    End server = Accept(first_);
    client.Send("hello");
    EXPECT_EQ(server.Receive(5), "hello");
    return {std::move(client), std::move(server)};
  }

  boost::asio::io_context io_;
  tcp::acceptor first_{io_, AddressAt("127.0.0.1", 0)};
  tcp::acceptor second_{io_, AddressAt("127.0.0.1", 0)};
  ProxyThread thread_;
  std::unique_ptr<FaultProxy> proxy_;
};

TEST_F(FaultProxyTest, ForwardsBothWaysAndTheEnd) {
  auto [client, server] = ConnectFirst();
  const std::string large(3 << 20, 'x');  // more than the proxy queues
  std::thread sender([&server = server, &large] {
    server.Send(large);
    server.Close();
  });
  EXPECT_EQ(client.Receive(large.size()), large);
  EXPECT_EQ(client.Receive(1), "!end");
  sender.join();
}

TEST_F(FaultProxyTest, TakesTargetsInTurn) {
  End one = Connect();
  End other = Connect();
  Accept(first_).Send("1");
  Accept(second_).Send("2");
  EXPECT_EQ(one.Receive(1), "1");
  EXPECT_EQ(other.Receive(1), "2");
}

TEST_F(FaultProxyTest, SkipsATargetThatRefuses) {
  proxy_->Set(0, {.refuse = true});
  End client = Connect();
  Accept(second_).Send("2");
  EXPECT_EQ(client.Receive(1), "2");
  // Also one that does not listen.
  proxy_->Heal();
  first_.close();
  End later = Connect();
  End last = Connect();
  Accept(second_).Send("3");
  Accept(second_).Send("3");
  EXPECT_EQ(later.Receive(1), "3");
  EXPECT_EQ(last.Receive(1), "3");
}

TEST_F(FaultProxyTest, ResetsIfAllTargetsRefuse) {
  proxy_->Set(0, {.refuse = true});
  proxy_->Set(1, {.refuse = true});
  End client = Connect();
  EXPECT_EQ(client.Receive(1), "!reset");
}

TEST_F(FaultProxyTest, DelaysEachDirection) {
  auto [client, server] = ConnectFirst();
  proxy_->Set(0, {.delay_to_target = 300ms});
  auto start = std::chrono::steady_clock::now();
  client.Send("late");
  server.Send("soon");
  EXPECT_EQ(client.Receive(4), "soon");
  const auto soon = Since(start);
  EXPECT_EQ(server.Receive(4), "late");
  EXPECT_GE(Since(start), 300ms);
  EXPECT_LT(soon, Since(start));
}

TEST_F(FaultProxyTest, KeepsTheOrderWhenADelayEnds) {
  auto [client, server] = ConnectFirst();
  proxy_->Set(0, {.delay_to_target = 500ms});
  client.Send("first");
  // It was sent later, so the proxy has read the first one when this arrives.
  server.Send("x");
  EXPECT_EQ(client.Receive(1), "x");
  proxy_->Heal();
  client.Send("second");
  EXPECT_EQ(server.Receive(11), "firstsecond");
}

TEST_F(FaultProxyTest, HoldsOneDirectionAndDeliversLater) {
  auto [client, server] = ConnectFirst();
  proxy_->Set(0, {.hold_to_client = true});
  client.Send("request");
  EXPECT_EQ(server.Receive(7), "request");
  server.Send("answer");
  EXPECT_TRUE(client.IsSilent());
  proxy_->Heal();
  EXPECT_EQ(client.Receive(6), "answer");
}

TEST_F(FaultProxyTest, ACutHoldsTheEndToo) {
  auto [client, server] = ConnectFirst();
  proxy_->Set(0, Cut());
  server.Send("bye");
  server.Close();
  EXPECT_TRUE(client.IsSilent());
  proxy_->Heal();
  EXPECT_EQ(client.Receive(3), "bye");
  EXPECT_EQ(client.Receive(1), "!end");
}

TEST_F(FaultProxyTest, ResetsTheConnectionsOfOneTarget) {
  auto [client, server] = ConnectFirst();
  End other = Connect();
  End other_server = Accept(second_);
  // The second connection is one only after it has forwarded.
  other.Send("x");
  EXPECT_EQ(other_server.Receive(1), "x");
  EXPECT_EQ(proxy_->connections(0), 1U);
  EXPECT_EQ(proxy_->connections(1), 1U);
  proxy_->Reset(0);
  EXPECT_EQ(client.Receive(1), "!reset");
  EXPECT_EQ(server.Receive(1), "!reset");
  EXPECT_EQ(proxy_->connections(0), 0U);
  other.Send("y");
  EXPECT_EQ(other_server.Receive(1), "y");
}

TEST_F(FaultProxyTest, SaysWhereItCannotListen) {
  auto taken = FaultProxy::Listen(thread_, first_.local_endpoint(), {second_.local_endpoint()});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), kube::Code::kUnavailable);
}

}  // namespace
}  // namespace e2e

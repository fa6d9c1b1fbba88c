// SPDX-License-Identifier: Apache-2.0
// Deadlines and closing of a plain stream. byte_stream_tls_test.cc has TLS; pool_test.cc and
// tls_test.cc (clients) and kube/server/https_server_test.cc (servers) have it against Asio's TLS.
#include "kube/http/byte_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;
using ErrorCode = ByteStream::ErrorCode;

class ByteStreamTest : public testing::Test {
 protected:
  ByteStreamTest() {
    tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    peer_.connect(acceptor.local_endpoint());
    stream_.emplace(acceptor.accept());
  }

  // Starts a read; the result is stored in the returned object.
  std::shared_ptr<std::optional<std::pair<ErrorCode, std::string>>> StartRead() {
    auto place = std::make_shared<std::optional<std::pair<ErrorCode, std::string>>>();
    asio::co_spawn(io_, Read(*stream_),
                   [place](std::exception_ptr, std::pair<ErrorCode, std::string> result) {
                     *place = std::move(result);
                   });
    return place;
  }
  std::pair<ErrorCode, std::string> Read() {
    auto place = StartRead();
    EXPECT_TRUE(RunUntil(io_, [&] { return place->has_value(); }));
    return place->value_or(std::pair<ErrorCode, std::string>());
  }
  static asio::awaitable<std::pair<ErrorCode, std::string>> Read(ByteStream& stream) {
    std::string text(100, '\0');
    auto read = co_await stream.ReadSome(asio::buffer(text));
    text.resize(read.second);
    co_return std::pair<ErrorCode, std::string>(read.first, std::move(text));
  }

  // Lets a deadline pass.
  void RunFor(Duration time) {
    io_.restart();
    io_.run_for(time);
  }
  void Send(const std::string& text) { asio::write(peer_, asio::buffer(text)); }

  asio::io_context io_;
  tcp::socket peer_{io_};
  std::optional<ByteStream> stream_;
};

TEST_F(ByteStreamTest, ReadsReceivedBytesThenEof) {
  EXPECT_TRUE(stream_->Quiet());
  Send("hello");
  EXPECT_EQ(Read().second, "hello");
  peer_.shutdown(tcp::socket::shutdown_send);
  EXPECT_EQ(Read().first, asio::error::eof);
  EXPECT_FALSE(stream_->Quiet());
}

TEST_F(ByteStreamTest, ACloseOrResetTogetherWithTheLastBytesIsNoticed) {
  Send("hello");
  peer_.close();
  EXPECT_EQ(Read().second, "hello");
  EXPECT_EQ(Read().first, asio::error::eof);

  tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  peer_.connect(acceptor.local_endpoint());
  stream_.emplace(acceptor.accept());
  Send("hello");
  EXPECT_EQ(Read().second, "hello");
  Send("more");
  Drain(io_);
  peer_.set_option(asio::socket_base::linger(true, 0));
  peer_.close();
  std::pair<ErrorCode, std::string> read = Read();
  if (!read.first) read = Read();
  EXPECT_EQ(read.first, asio::error::connection_reset);
}

TEST_F(ByteStreamTest, APassedDeadlineFailsTheReadAndClosesTheStream) {
  stream_->ExpireAfter(20ms);
  EXPECT_EQ(Read().first, asio::error::timed_out);
  EXPECT_EQ(Read().first, asio::error::timed_out) << "it stays closed";
}

TEST_F(ByteStreamTest, TheDeadlineCanBeExtendedDuringARead) {
  auto read = StartRead();
  Drain(io_);
  // The event loop does not run between these calls.
  stream_->ExpireAfter(1ms);
  stream_->ExpireAfter(1h);
  io_.restart();
  EXPECT_EQ(io_.run_one(), 1u) << "the timer of the first deadline";
  Drain(io_);
  EXPECT_FALSE(read->has_value());
  Send("late");
  ASSERT_TRUE(RunUntil(io_, [&] { return read->has_value(); }));
  EXPECT_EQ((*read)->second, "late");
}

TEST_F(ByteStreamTest, TheDeadlineCanBeShortenedDuringARead) {
  stream_->ExpireAfter(1h);
  auto read = StartRead();
  Drain(io_);
  stream_->ExpireAfter(20ms);
  ASSERT_TRUE(RunUntil(io_, [&] { return read->has_value(); }));
  EXPECT_EQ((*read)->first, asio::error::timed_out);
}

TEST_F(ByteStreamTest, ADeadlineThatPassesBetweenOperationsFailsTheNextOne) {
  stream_->ExpireAfter(1ms);
  RunFor(20ms);
  stream_->ExpireAfter(10s);
  Send("hello");
  EXPECT_EQ(Read().second, "hello") << "a new deadline makes the stream usable again";
}

TEST_F(ByteStreamTest, TheDeadlineAppliesToAPeerThatNeverStopsSending) {
  stream_->ExpireAfter(0ms);
  Send("hello");
  EXPECT_EQ(Read().first, asio::error::timed_out);
}

TEST_F(ByteStreamTest, WritesMoreThanTheSocketTakesAtOnce) {
  std::string text(8 * 1024 * 1024, 'x');
  std::optional<std::pair<ErrorCode, size_t>> written;
  asio::co_spawn(
      io_, stream_->Write(text),
      [&](std::exception_ptr, std::pair<ErrorCode, size_t> result) { written = result; });
  Drain(io_);
  EXPECT_FALSE(written) << "the peer has not read yet";
  size_t received = 0;
  std::string buffer(1024 * 1024, '\0');
  while (received < text.size()) {
    received += peer_.read_some(asio::buffer(buffer));
    io_.poll();
  }
  ASSERT_TRUE(RunUntil(io_, [&] { return written.has_value(); }));
  EXPECT_FALSE(written->first) << written->first.message();
  EXPECT_EQ(written->second, text.size());
}

// A task that is asked to stop while none of its operations runs.
asio::awaitable<void> ReadWhenAskedToStop(ByteStream& stream, asio::cancellation_signal& stop,
                                          std::vector<std::pair<ErrorCode, size_t>>& reads) {
  co_await IgnoreCancellation();
  stop.emit(asio::cancellation_type::terminal);
  std::string text(100, '\0');
  auto read = co_await stream.ReadSome(asio::buffer(text));
  reads.push_back(read);
  read = co_await stream.ReadSome(asio::buffer(text));
  reads.push_back(read);
}

TEST_F(ByteStreamTest, AStopRequestBetweenOperationsEndsTheNextWait) {
  Send("hello");
  asio::cancellation_signal stop;
  std::vector<std::pair<ErrorCode, size_t>> reads;
  asio::co_spawn(io_, ReadWhenAskedToStop(*stream_, stop, reads),
                 asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
  ASSERT_TRUE(RunUntil(io_, [&] { return reads.size() == 2; }));
  EXPECT_EQ(reads[0].second, 5u) << "what is there is read";
  EXPECT_EQ(reads[1].first, asio::error::operation_aborted);
}

TEST_F(ByteStreamTest, CloseFailsTheReadInFlight) {
  auto read = StartRead();
  Drain(io_);
  stream_->Close();
  ASSERT_TRUE(RunUntil(io_, [&] { return read->has_value(); }));
  EXPECT_EQ((*read)->first, asio::error::operation_aborted);
}

TEST_F(ByteStreamTest, AStreamCanBeDestroyedWhileItsTimerIsDue) {
  stream_->ExpireAfter(1ms);
  auto read = StartRead();
  Drain(io_);
  stream_.reset();
  ASSERT_TRUE(RunUntil(io_, [&] { return read->has_value(); }));
  EXPECT_TRUE((*read)->first);
}

}  // namespace
}  // namespace kube

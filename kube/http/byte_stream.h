// SPDX-License-Identifier: Apache-2.0
// ByteStream: a byte stream with a deadline over one connected TCP socket, plain or TLS; for
// clients and servers.
//
//   ByteStream stream(executor);
//   stream.ExpireAfter(10s);
//   boost::system::error_code ec = co_await stream.Connect(endpoint);
//   SSL* ssl = stream.StartTls(context);
//   if (!ec) ec = co_await stream.Handshake(ByteStream::Side::kClient);
//
// Why not Asio's streams: ssl::stream keeps 68 KB of buffers per connection and copies every byte
// through two of them, and each read and write sets and cancels a timer. Here TLS reads and writes
// the socket directly, an idle stream holds no buffer, and extending the deadline is free. One
// system call receives all that is there, and none is made that would find nothing.
// Thread: the executor's. At most one read and one write in flight; both must end, or be destroyed
// with their coroutines, before the stream is destroyed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string_view>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"

struct ssl_ctx_st;
struct ssl_st;

namespace kube {

class ByteStream {
 public:
  enum class Side { kClient, kServer };
  using ErrorCode = boost::system::error_code;

  // `socket` is connected, or is to be connected by Connect().
  explicit ByteStream(asio::ip::tcp::socket socket);
  explicit ByteStream(const Executor& executor) : ByteStream(asio::ip::tcp::socket(executor)) {}
  ~ByteStream();
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(ByteStream&&) = delete;

  // Deadline of the operations in flight and of all later ones. An operation that takes longer
  // fails with timed_out and closes the socket.
  void ExpireAfter(Duration left);

  asio::awaitable<ErrorCode> Connect(asio::ip::tcp::endpoint endpoint);

  // Switches to TLS; call Handshake() next. The caller may configure the returned SSL before that;
  // nullptr if out of memory. Holds a reference to `context`.
  ssl_st* StartTls(ssl_ctx_st* context);
  asio::awaitable<ErrorCode> Handshake(Side side);

  // Reads at least one byte into `buffer`, which must not be empty. Errors: eof after an orderly
  // close by the peer, stream_truncated after a TLS close without close_notify, timed_out,
  // operation_aborted (cancelled or closed), others.
  asio::awaitable<std::pair<ErrorCode, size_t>> ReadSome(asio::mutable_buffer buffer);
  // Writes all of `bytes`, or fails; the size is the number of bytes that were certainly sent.
  asio::awaitable<std::pair<ErrorCode, size_t>> Write(std::string_view bytes);
  // Sends TLS close_notify without waiting for the peer's.
  void SendCloseNotify();
  void Close();

  // True if the connection is open and has no unread data.
  bool Quiet() const;
  // For socket options, and for reading leftover bytes below TLS.
  asio::ip::tcp::socket& socket();

 private:
  struct State;
  // Shared with the timer's handler, which may run once more after this object is destroyed.
  std::shared_ptr<State> state_;
};

}  // namespace kube

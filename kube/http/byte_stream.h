// SPDX-License-Identifier: Apache-2.0
// ByteStream: one connected TCP socket, plain or under TLS, as bytes with a deadline; for clients
// and servers alike.
//
//   ByteStream stream(executor);
//   stream.ExpireAfter(10s);
//   boost::system::error_code ec = co_await stream.Connect(endpoint);
//   SSL* ssl = stream.StartTls(context);
//   if (!ec) ec = co_await stream.Handshake(ByteStream::Side::kClient);
//
// Why not Asio's own: its TLS keeps 68 KB of buffers a connection and copies every byte through two
// of them, and a timer is set and cancelled for each read and write. Here TLS reads and writes the
// socket itself, nothing is held while nothing is under way, and a deadline that moves on costs
// nothing. Thread: the executor's. One read and one write may be under way at a time; they must end
// before the stream does, or be abandoned with their coroutines.
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

  // Of a connected socket, or of none yet.
  explicit ByteStream(asio::ip::tcp::socket socket);
  explicit ByteStream(const Executor& executor) : ByteStream(asio::ip::tcp::socket(executor)) {}
  ~ByteStream();
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(ByteStream&&) = delete;

  // Bounds everything that waits from now on, also what waits already. What takes longer ends in
  // timed_out and closes the socket.
  void ExpireAfter(Duration left);

  asio::awaitable<ErrorCode> Connect(asio::ip::tcp::endpoint endpoint);

  // From here on bytes go through TLS, after Handshake(). The result may be prepared further;
  // nullptr if there is no memory. Keeps `context` as long as it needs it.
  ssl_st* StartTls(ssl_ctx_st* context);
  asio::awaitable<ErrorCode> Handshake(Side side);

  // At least one byte into `buffer`, which is not empty. Errors: eof when the peer has ended the
  // stream in good order, stream_truncated when it did not say so under TLS, timed_out,
  // operation_aborted (cancelled or closed), others.
  asio::awaitable<std::pair<ErrorCode, size_t>> ReadSome(asio::mutable_buffer buffer);
  // All of `bytes`, or an error; the number is what went out for certain.
  asio::awaitable<std::pair<ErrorCode, size_t>> Write(std::string_view bytes);
  // Says that no more bytes will come from here; does not wait for the peer to say the same.
  void SayGoodbye();
  void Close();

  // Open, and nothing came that was not read.
  bool Quiet() const;
  // For options, and for reading what is left below TLS.
  asio::ip::tcp::socket& socket();

 private:
  struct State;
  // Shared with the timer's handler, which may run once more after this object is gone.
  std::shared_ptr<State> state_;
};

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "kube/http/byte_stream.h"

#include <openssl/base.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace kube {
namespace {

using asio::ip::tcp;
using ErrorCode = ByteStream::ErrorCode;

// A TLS record and its header.
constexpr size_t kRecord = 17 * 1024;
// Yields to other coroutines after so many reads in a row that did not have to wait.
constexpr int kMaxInOneGo = 16;

ErrorCode LastErrno() { return {errno, boost::system::system_category()}; }

}  // namespace

struct ByteStream::State : std::enable_shared_from_this<State> {
  explicit State(tcp::socket connected)
      : socket(std::move(connected)), timer(socket.get_executor()) {}

  tcp::socket socket;
  bssl::UniquePtr<SSL> ssl;
  // Below TLS: bytes received and not consumed yet, from `read_from` on.
  std::string received;
  size_t read_from = 0;
  ErrorCode socket_error;

  asio::steady_timer timer;
  TimePoint deadline = TimePoint::max();
  TimePoint timer_at = TimePoint::max();  // when the timer fires next; max: it is not set
  int waiting = 0;
  bool timed_out = false;
  int in_one_go = 0;

  // A timer that is set is not reset when the deadline is extended: its handler checks the deadline
  // again.
  void SetTimer() {
    if (deadline >= timer_at || deadline == TimePoint::max()) return;
    timer_at = deadline;
    timer.expires_at(deadline);
    timer.async_wait([weak = weak_from_this()](ErrorCode ec) {
      std::shared_ptr<State> self = weak.lock();
      if (!ec && self != nullptr) self->OnTimer();
    });
  }

  void OnTimer() {
    timer_at = TimePoint::max();
    if (waiting == 0) return;
    if (std::chrono::steady_clock::now() < deadline) {
      SetTimer();
      return;
    }
    timed_out = true;
    Close();
  }

  void Close() {
    ErrorCode ignored;
    socket.close(ignored);
  }

  // Waits until the socket is readable or writable.
  asio::awaitable<ErrorCode> Await(tcp::socket::wait_type what) {
    in_one_go = 0;
    ++waiting;
    SetTimer();
    auto waited = co_await socket.async_wait(what, kTuple);
    --waiting;
    co_return timed_out ? ErrorCode(asio::error::timed_out) : std::get<0>(waited);
  }

  // Called before an operation that may complete without waiting.
  asio::awaitable<ErrorCode> TakeTurn() {
    if (!socket.is_open())
      co_return timed_out ? asio::error::timed_out : asio::error::operation_aborted;
    if (std::chrono::steady_clock::now() >= deadline) {
      timed_out = true;
      Close();
      co_return asio::error::timed_out;
    }
    if (++in_one_go > kMaxInOneGo) {
      in_one_go = 0;
      co_await asio::post(socket.get_executor(), asio::use_awaitable);
    }
    co_return ErrorCode();
  }

  // Translates the `result` of an SSL call: no error if the call must be repeated after a wait, or
  // the error.
  std::pair<ErrorCode, tcp::socket::wait_type> Explain(int result) {
    int reason = SSL_get_error(ssl.get(), result);
    switch (reason) {
      case SSL_ERROR_WANT_READ:
        return {{}, tcp::socket::wait_read};
      case SSL_ERROR_WANT_WRITE:
        return {{}, tcp::socket::wait_write};
      case SSL_ERROR_ZERO_RETURN:
        return {asio::error::eof, {}};
      case SSL_ERROR_SYSCALL:
        if (socket_error) return {socket_error, {}};
        return {asio::ssl::error::stream_truncated, {}};
      default:
        break;
    }
    ErrorCode ec(static_cast<int>(ERR_get_error()), asio::error::get_ssl_category());
    ERR_clear_error();
    return {ec, {}};
  }

  // Reads socket bytes for TLS. BoringSSL asks for a record's header, then for its body; both are
  // received with one system call.
  int Receive(char* out, int size) {
    if (read_from == received.size()) {
      std::array<char, kRecord> buffer;
      ssize_t got = ::recv(socket.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      socket_error = got < 0 ? LastErrno() : ErrorCode();
      if (got <= 0) return static_cast<int>(got);
      size_t taken = std::min<size_t>(static_cast<size_t>(got), static_cast<size_t>(size));
      std::memcpy(out, buffer.data(), taken);
      received.assign(buffer.data() + taken, static_cast<size_t>(got) - taken);
      read_from = 0;
      return static_cast<int>(taken);
    }
    size_t taken = std::min<size_t>(received.size() - read_from, static_cast<size_t>(size));
    std::memcpy(out, received.data() + read_from, taken);
    read_from += taken;
    if (read_from == received.size()) {
      received = std::string();
      read_from = 0;
    }
    return static_cast<int>(taken);
  }

  int Send(const char* bytes, int size) {
    ssize_t sent = ::send(socket.native_handle(), bytes, static_cast<size_t>(size),
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    socket_error = sent < 0 ? LastErrno() : ErrorCode();
    return static_cast<int>(sent);
  }

  // The BIO around it.
  static bool MayTryAgain(BIO* bio, int result) {
    BIO_clear_retry_flags(bio);
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  }
  static int BioRead(BIO* bio, char* out, int size) {
    int result = static_cast<State*>(BIO_get_data(bio))->Receive(out, size);
    if (MayTryAgain(bio, result)) BIO_set_retry_read(bio);
    return result;
  }
  static int BioWrite(BIO* bio, const char* bytes, int size) {
    int result = static_cast<State*>(BIO_get_data(bio))->Send(bytes, size);
    if (MayTryAgain(bio, result)) BIO_set_retry_write(bio);
    return result;
  }
  static long BioControl(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static const BIO_METHOD* Method() {
    static const BIO_METHOD* method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");
      BIO_meth_set_read(made, BioRead);
      BIO_meth_set_write(made, BioWrite);
      BIO_meth_set_ctrl(made, BioControl);
      return made;
    }();
    return method;
  }
};

ByteStream::ByteStream(tcp::socket socket) : state_(std::make_shared<State>(std::move(socket))) {}

ByteStream::~ByteStream() {
  // The timer's handler may keep the state alive for a moment; the socket must be closed now.
  if (state_ != nullptr) state_->Close();
}

ByteStream::ByteStream(ByteStream&& other) noexcept = default;

void ByteStream::ExpireAfter(Duration left) {
  TimePoint now = std::chrono::steady_clock::now();
  state_->deadline = left > TimePoint::max() - now ? TimePoint::max() : now + left;
  if (state_->waiting > 0) state_->SetTimer();
}

asio::awaitable<ErrorCode> ByteStream::Connect(tcp::endpoint endpoint) {
  co_await IgnoreCancellation();
  std::shared_ptr<State> state = state_;
  ++state->waiting;
  state->SetTimer();
  auto connected = co_await state->socket.async_connect(endpoint, kTuple);
  --state->waiting;
  co_return state->timed_out ? ErrorCode(asio::error::timed_out) : std::get<0>(connected);
}

ssl_st* ByteStream::StartTls(ssl_ctx_st* context) {
  state_->ssl.reset(SSL_new(context));
  BIO* bio = BIO_new(State::Method());
  if (state_->ssl == nullptr || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, state_.get());
  BIO_set_init(bio, 1);
  // One for both directions; SSL frees it.
  SSL_set_bio(state_->ssl.get(), bio, bio);
  SSL_set_mode(state_->ssl.get(),
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return state_->ssl.get();
}

asio::awaitable<ErrorCode> ByteStream::Handshake(Side side) {
  co_await IgnoreCancellation();
  std::shared_ptr<State> state = state_;
  if (side == Side::kClient) {
    SSL_set_connect_state(state->ssl.get());
  } else {
    SSL_set_accept_state(state->ssl.get());
  }
  while (true) {
    ErrorCode ec = co_await state->TakeTurn();
    if (ec) co_return ec;
    int result = SSL_do_handshake(state->ssl.get());
    if (result == 1) co_return ErrorCode();
    auto [failed, what] = state->Explain(result);
    if (failed) co_return failed;
    ec = co_await state->Await(what);
    if (ec) co_return ec;
  }
}

asio::awaitable<std::pair<ErrorCode, size_t>> ByteStream::ReadSome(asio::mutable_buffer buffer) {
  co_await IgnoreCancellation();
  using Read = std::pair<ErrorCode, size_t>;
  std::shared_ptr<State> state = state_;
  while (true) {
    ErrorCode ec = co_await state->TakeTurn();
    if (ec) co_return Read(ec, 0);
    tcp::socket::wait_type what = tcp::socket::wait_read;
    if (state->ssl != nullptr) {
      int got = SSL_read(state->ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (got > 0) co_return Read(ErrorCode(), got);
      auto [failed, wanted] = state->Explain(got);
      if (failed) co_return Read(failed, 0);
      what = wanted;
    } else {
      ssize_t got =
          ::recv(state->socket.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) co_return Read(ErrorCode(), got);
      if (got == 0) co_return Read(asio::error::eof, 0);
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) co_return Read(LastErrno(), 0);
    }
    ec = co_await state->Await(what);
    if (ec) co_return Read(ec, 0);
  }
}

asio::awaitable<std::pair<ErrorCode, size_t>> ByteStream::Write(std::string_view bytes) {
  co_await IgnoreCancellation();
  using Written = std::pair<ErrorCode, size_t>;
  std::shared_ptr<State> state = state_;
  size_t done = 0;
  while (done < bytes.size()) {
    ErrorCode ec = co_await state->TakeTurn();
    if (ec) co_return Written(ec, done);
    std::string_view rest = bytes.substr(done);
    tcp::socket::wait_type what = tcp::socket::wait_write;
    if (state->ssl != nullptr) {
      int sent = SSL_write(state->ssl.get(), rest.data(),
                           static_cast<int>(std::min<size_t>(rest.size(), 1 << 30)));
      if (sent > 0) {
        done += static_cast<size_t>(sent);
        continue;
      }
      auto [failed, wanted] = state->Explain(sent);
      if (failed) co_return Written(failed, done);
      what = wanted;
    } else {
      ssize_t sent = ::send(state->socket.native_handle(), rest.data(), rest.size(),
                            MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) {
        done += static_cast<size_t>(sent);
        continue;
      }
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        co_return Written(LastErrno(), done);
    }
    ec = co_await state->Await(what);
    if (ec) co_return Written(ec, done);
  }
  co_return Written(ErrorCode(), done);
}

void ByteStream::SendCloseNotify() {
  // Best effort: the peer may have closed already.
  if (state_->ssl != nullptr && state_->socket.is_open()) SSL_shutdown(state_->ssl.get());
  ERR_clear_error();
}

void ByteStream::Close() { state_->Close(); }

bool ByteStream::Quiet() const {
  if (state_->read_from != state_->received.size()) return false;
  if (state_->ssl != nullptr && SSL_pending(state_->ssl.get()) > 0) return false;
  char byte;
  ssize_t got = ::recv(state_->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

tcp::socket& ByteStream::socket() { return state_->socket; }

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "kube/http/byte_stream.h"

#include <openssl/base.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace kube {
namespace {

using asio::ip::tcp;
using ErrorCode = ByteStream::ErrorCode;

// A TLS record and its header. Most responses and watch events are smaller.
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
  // True if a system call has just found nothing more to read: the next read waits first, because
  // receiving would fail. The wait ends at once if bytes, a close or a reset arrived meanwhile.
  bool drained = false;
  ErrorCode socket_error;
  // Below TLS: bytes received and not consumed yet. They are in `landing` during a call of TLS, and
  // are kept in `received` between calls.
  std::string_view unread;
  std::string received;
  char* landing = nullptr;  // kRecord bytes

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

  // Whether the task was asked to stop, perhaps between two operations: Asio does not cancel the
  // next one, which would wait for bytes that may never come.
  static bool Stopped(const asio::cancellation_state& task) {
    return task.cancelled() != asio::cancellation_type::none;
  }

  // Around a wait until the socket is readable or writable.
  void BeginWait() {
    in_one_go = 0;
    ++waiting;
    SetTimer();
  }
  ErrorCode EndWait(ErrorCode waited) {
    --waiting;
    if (timed_out) return asio::error::timed_out;
    return waited;
  }

  // Called before an operation that may complete without waiting: why it must not begin.
  ErrorCode Check() {
    if (!socket.is_open())
      return timed_out ? asio::error::timed_out : asio::error::operation_aborted;
    if (std::chrono::steady_clock::now() < deadline) return {};
    timed_out = true;
    Close();
    return asio::error::timed_out;
  }
  // True if other coroutines must run before the next operation.
  bool TookItsTurn() {
    if (++in_one_go <= kMaxInOneGo) return false;
    in_one_go = 0;
    return true;
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

  // recv(2) that does not wait, with errno EAGAIN where it would have to.
  ssize_t ReceiveSome(char* out, size_t size) {
    ssize_t got = ::recv(socket.native_handle(), out, size, MSG_DONTWAIT);
    if (got > 0) drained = static_cast<size_t>(got) < size;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) drained = true;
    return got;
  }

  // Runs a call of TLS that may read from the socket. One system call receives all that is there;
  // the buffer for it exists during the call only.
  template <class Function>
  int CallTls(Function function) {
    std::array<char, kRecord> buffer;
    landing = buffer.data();
    int result = function(ssl.get());
    landing = nullptr;
    if (unread.empty()) {
      if (!received.empty()) std::string().swap(received);
    } else if (received.empty()) {
      received = unread;
      unread = received;
    }
    return result;
  }

  // Reads socket bytes for TLS, which asks for a record's header, then for its body.
  int Receive(char* out, int size) {
    if (unread.empty()) {
      if (drained || landing == nullptr) {
        errno = EAGAIN;
        return -1;
      }
      std::string().swap(received);
      ssize_t got = ReceiveSome(landing, kRecord);
      socket_error = got < 0 ? LastErrno() : ErrorCode();
      if (got <= 0) return static_cast<int>(got);
      unread = std::string_view(landing, static_cast<size_t>(got));
    }
    size_t taken = std::min<size_t>(unread.size(), static_cast<size_t>(size));
    std::memcpy(out, unread.data(), taken);
    unread.remove_prefix(taken);
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
  asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
  if (State::Stopped(task)) co_return asio::error::operation_aborted;
  state->BeginWait();
  auto connected = co_await state->socket.async_connect(endpoint, kTuple);
  ErrorCode ec = state->EndWait(std::get<0>(connected));
  // Asio asked epoll for the end of connecting, that is for writability, and would do so for as
  // long as it knows the descriptor. Each wait for bytes would then be woken at once, because the
  // socket is writable.
  tcp::socket& socket = state->socket;
  int descriptor = -1;
  if (!ec) descriptor = socket.release(ec);
  if (!ec) socket.assign(endpoint.protocol(), descriptor, ec);
  if (ec && descriptor >= 0 && !socket.is_open()) ::close(descriptor);
  co_return ec;
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
    ErrorCode ec = state->Check();
    if (ec) co_return ec;
    int result = state->CallTls(SSL_do_handshake);
    if (result == 1) co_return ErrorCode();
    auto [failed, what] = state->Explain(result);
    if (failed) co_return failed;
    asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (State::Stopped(task)) co_return asio::error::operation_aborted;
    state->BeginWait();
    auto waited = co_await state->socket.async_wait(what, kTuple);
    state->drained = false;
    ec = state->EndWait(std::get<0>(waited));
    if (ec) co_return ec;
  }
}

asio::awaitable<std::pair<ErrorCode, size_t>> ByteStream::ReadSome(asio::mutable_buffer buffer) {
  co_await IgnoreCancellation();
  using Read = std::pair<ErrorCode, size_t>;
  std::shared_ptr<State> state = state_;
  while (true) {
    ErrorCode ec = state->Check();
    if (ec) co_return Read(ec, 0);
    if (state->TookItsTurn()) {
      co_await asio::post(state->socket.get_executor(), asio::use_awaitable);
      continue;
    }
    tcp::socket::wait_type what = tcp::socket::wait_read;
    if (state->ssl != nullptr) {
      int got = state->CallTls(
          [&](SSL* ssl) { return SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size())); });
      if (got > 0) co_return Read(ErrorCode(), got);
      auto [failed, wanted] = state->Explain(got);
      if (failed) co_return Read(failed, 0);
      what = wanted;
    } else if (!state->drained) {
      ssize_t got = state->ReceiveSome(static_cast<char*>(buffer.data()), buffer.size());
      if (got > 0) co_return Read(ErrorCode(), got);
      if (got == 0) co_return Read(asio::error::eof, 0);
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) co_return Read(LastErrno(), 0);
    }
    asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (State::Stopped(task)) co_return Read(asio::error::operation_aborted, 0);
    state->BeginWait();
    auto waited = co_await state->socket.async_wait(what, kTuple);
    state->drained = false;
    ec = state->EndWait(std::get<0>(waited));
    if (ec) co_return Read(ec, 0);
  }
}

asio::awaitable<std::pair<ErrorCode, size_t>> ByteStream::Write(std::string_view bytes) {
  co_await IgnoreCancellation();
  using Written = std::pair<ErrorCode, size_t>;
  std::shared_ptr<State> state = state_;
  size_t done = 0;
  while (done < bytes.size()) {
    ErrorCode ec = state->Check();
    if (ec) co_return Written(ec, done);
    if (state->TookItsTurn()) {
      co_await asio::post(state->socket.get_executor(), asio::use_awaitable);
      continue;
    }
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
    asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (State::Stopped(task)) co_return Written(asio::error::operation_aborted, done);
    state->BeginWait();
    auto waited = co_await state->socket.async_wait(what, kTuple);
    ec = state->EndWait(std::get<0>(waited));
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
  if (!state_->unread.empty()) return false;
  if (state_->ssl != nullptr && SSL_pending(state_->ssl.get()) > 0) return false;
  char byte;
  ssize_t got = ::recv(state_->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
  state_->drained = true;
  return true;
}

tcp::socket& ByteStream::socket() { return state_->socket; }

}  // namespace kube

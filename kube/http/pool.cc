// SPDX-License-Identifier: Apache-2.0
#include "kube/http/pool.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/string.hpp>
#include <iterator>

#include "kube/http/body_too_large.h"
#include "kube/http/connection.h"
#include "kube/http/no_connection.h"
#include "kube/http/request_writer.h"
#include "kube/http/response_reader.h"

namespace kube {
namespace {

namespace beast = boost::beast;

// Header and body up to this size are sent with one write, if possible in one TLS record.
constexpr size_t kJoinedBody = 16 * 1024;
constexpr size_t kKeptBuffer = 32 * 1024;

// A request as it is sent.
struct Message {
  // The header, and the body if it is small.
  std::string head;
  // The rest of the body; of the request.
  std::string_view rest;

  size_t size() const { return head.size() + rest.size(); }
};

Result<Message> ToMessage(const HttpRequest& request, const Origin& origin) {
  bool joined = request.body.size() <= kJoinedBody;
  Result<std::string> head = WriteRequestHeader(request, origin, joined ? request.body.size() : 0);
  if (!head) return head.error();
  Message message{std::move(*head), {}};
  if (joined) {
    message.head += request.body;
  } else {
    message.rest = request.body;
  }
  return message;
}

HttpResponse ToResponse(const beast::http::response_header<>& header) {
  HttpResponse response;
  response.status = static_cast<int>(header.result_int());
  response.headers.reserve(static_cast<size_t>(std::distance(header.begin(), header.end())));
  for (auto& field : header) {
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return response;
}

bool Repeatable(const HttpRequest& request) {
  if (request.repeatable) return true;
  for (std::string_view method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}) {
    if (request.method == method) return true;
  }
  return false;
}

// The idle connections.
class IdleConnections : public std::enable_shared_from_this<IdleConnections> {
 public:
  IdleConnections(const Executor& executor, Clock& clock, std::chrono::milliseconds timeout)
      : clock_(clock), timeout_(timeout), reaper_(executor) {}

  // An idle connection that is still usable and whose address is allowed, or null.
  std::unique_ptr<Connection> Take(const AddressFilter& may_connect) {
    // The most recently used one: the others can reach their idle timeout.
    for (size_t i = idle_.size(); i-- > 0;) {
      if (may_connect && !may_connect(idle_[i].connection->peer())) continue;
      Idle idle = std::move(idle_[i]);
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      if (clock_.Now() - idle.since < timeout_ && idle.connection->Quiet())
        return std::move(idle.connection);
    }
    return nullptr;
  }

  // Returns `connection` for the next call.
  void Keep(std::unique_ptr<Connection> connection) {
    if (closed_) return;
    // Keeps a buffer of one read: the next call usually follows soon, otherwise the idle timeout
    // frees it.
    if (connection->buffer().capacity() > kKeptBuffer) connection->buffer().shrink_to_fit();
    idle_.push_back({std::move(connection), clock_.Now()});
    // A timer that is set stays set when calls use the connections: Reap() checks each again.
    if (!reaper_is_set_) ScheduleReaper();
  }

  void Close() {
    closed_ = true;
    idle_.clear();
    reaper_.cancel();
  }

  size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    TimePoint since;
  };

  void ScheduleReaper() {
    reaper_is_set_ = true;
    reaper_.expires_after(idle_.front().since + timeout_ - clock_.Now());
    reaper_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
      std::shared_ptr<IdleConnections> self = weak.lock();
      if (!ec && self != nullptr) self->Reap();
    });
  }

  void Reap() {
    reaper_is_set_ = false;
    TimePoint now = clock_.Now();
    std::erase_if(idle_, [&](const Idle& idle) { return now - idle.since >= timeout_; });
    if (!idle_.empty()) ScheduleReaper();
  }

  Clock& clock_;
  std::chrono::milliseconds timeout_;
  asio::steady_timer reaper_;
  bool reaper_is_set_ = false;
  bool closed_ = false;
  std::vector<Idle> idle_;  // oldest first
};

class BodyStream final : public HttpStream {
 public:
  BodyStream(std::unique_ptr<Connection> connection, ResponseReader::Limits limits,
             std::chrono::milliseconds idle_timeout)
      : connection_(std::move(connection)),
        reader_(*connection_, limits),
        idle_timeout_(idle_timeout) {}

  ResponseReader& reader() { return reader_; }
  Connection& connection() { return *connection_; }
  void KeepHeader() { response_ = ToResponse(reader_.header()); }

  // HttpStream
  const HttpResponse& response() const override { return response_; }
  Async<std::string> Next() override {
    co_await IgnoreCancellation();
    connection_->ExpireAfter(idle_timeout_);
    Result<std::string> piece = co_await reader_.Next();
    co_return piece;
  }
  void SetIdleTimeout(std::chrono::milliseconds timeout) override { idle_timeout_ = timeout; }

 private:
  std::unique_ptr<Connection> connection_;
  ResponseReader reader_;
  std::chrono::milliseconds idle_timeout_;
  HttpResponse response_;
};

class Pool final : public HttpPool {
 public:
  Pool(const Executor& executor, Clock& clock, Origin origin, PoolOptions options)
      : clock_(clock),
        origin_(std::move(origin)),
        options_(options),
        slots_(std::make_shared<Slots>(executor, clock, options.max_connections, "a connection")),
        idle_(std::make_shared<IdleConnections>(executor, clock, options.idle_timeout)) {
    if (origin_.scheme != "https") return;
    Result<std::shared_ptr<TlsContext>> tls = TlsContext::New(origin_.tls);
    if (tls) {
      tls_ = std::move(*tls);
    } else {
      tls_failure_ = tls.error();
    }
  }
  ~Pool() override { idle_->Close(); }

  // HttpPool
  Async<HttpResponse> Call(HttpRequest request) override;
  Async<std::unique_ptr<HttpStream>> Stream(HttpRequest request) override;
  size_t busy() const override { return slots_->busy(); }
  size_t idle() const override { return idle_->size(); }

 private:
  Async<std::unique_ptr<Connection>> Open(const AddressFilter& may_connect, TimePoint deadline);
  // Sends `message` and reads the header of its response.
  Async<> Exchange(Connection& connection, ResponseReader& reader, const Message& message);
  // One call on `connection`, which is kept for the next call if it is reusable. Sets `may_retry`
  // if a retry is safe: the connection broke before the first byte of the response, and nothing was
  // sent or the request is repeatable.
  Async<HttpResponse> CallOn(std::unique_ptr<Connection> connection, const HttpRequest& request,
                             const Message& message, TimePoint deadline, bool& may_retry);

  ResponseReader::Limits LimitsOf(const HttpRequest& request) const {
    return {.header_bytes = options_.max_header_bytes,
            .body_bytes = std::nullopt,
            .no_body = request.method == "HEAD"};
  }

  Clock& clock_;
  Origin origin_;
  PoolOptions options_;
  // Shared with waiting coroutines, which may be destroyed later.
  std::shared_ptr<Slots> slots_;
  std::shared_ptr<IdleConnections> idle_;
  std::shared_ptr<TlsContext> tls_;
  std::optional<Error> tls_failure_;
};

Async<std::unique_ptr<Connection>> Pool::Open(const AddressFilter& may_connect,
                                              TimePoint deadline) {
  if (tls_failure_) co_return *tls_failure_;
  Route route{.host = origin_.host,
              .port = origin_.port,
              .tls = tls_,
              .proxy = origin_.proxy,
              .tunnel = origin_.scheme == "https",
              .connect_timeout = options_.connect_timeout,
              .names = options_.names,
              .may_connect = may_connect};
  Result<std::unique_ptr<Connection>> connection =
      co_await Connect(std::move(route), clock_, deadline);
  co_return connection;
}

Async<> Pool::Exchange(Connection& connection, ResponseReader& reader, const Message& message) {
  Result<> written = co_await connection.Write(message.head);
  if (written && !message.rest.empty()) written = co_await connection.Write(message.rest);
  // A server that refuses a large body may respond and close before it has read all of it.
  if (!written && (message.rest.empty() || written.error().code() != Code::kUnavailable))
    co_return written.error();
  Result<> read = co_await reader.ReadHeader();
  if (!read && !written) co_return written.error();
  co_return read;
}

Async<HttpResponse> Pool::CallOn(std::unique_ptr<Connection> connection, const HttpRequest& request,
                                 const Message& message, TimePoint deadline, bool& may_retry) {
  connection->ExpireAfter(deadline - clock_.Now());
  ResponseReader::Limits limits = LimitsOf(request);
  // A sink may take a body of any size; whether it does is known after the header.
  if (request.body_sink == nullptr) limits.body_bytes = request.max_body_bytes;
  ResponseReader reader(*connection, limits);
  size_t sent_before = connection->bytes_sent();
  Result<> exchanged = co_await Exchange(*connection, reader, message);
  if (!exchanged) {
    bool nothing_sent = connection->bytes_sent() == sent_before;
    may_retry = exchanged.error().code() == Code::kUnavailable && !reader.begun() &&
                (nothing_sent || Repeatable(request));
    co_return exchanged.error();
  }
  HttpResponse response = ToResponse(reader.header());
  response.peer = connection->peer();
  const bool to_sink = request.body_sink != nullptr && request.body_sink->Begin(response);
  while (!reader.ended()) {
    Result<std::string> piece = co_await reader.Next();
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    if (to_sink) {
      const bool goes_on = request.body_sink->Add(*piece);
      if (!goes_on) co_return response;
      continue;
    }
    if (response.body.size() + piece->size() > request.max_body_bytes)
      co_return Error::FromHttpStatus(400, kBodyTooLarge, "the response body is too large");
    bool large = response.body.size() + piece->size() > request.small_body_bytes;
    if (large && request.large_bodies != nullptr && response.body_lease == nullptr) {
      // Nothing is read during this wait: TCP flow control stops the peer.
      Result<Slots::Lease> slot = co_await request.large_bodies->Acquire(deadline);
      if (!slot) co_return slot.error();
      response.body_lease = std::move(*slot);
      response.body.reserve(request.max_body_bytes);
    }
    if (response.body.empty()) {
      response.body = std::move(*piece);
    } else {
      response.body += *piece;
    }
  }
  bool all_sent = connection->bytes_sent() - sent_before == message.size();
  if (reader.reusable() && all_sent) idle_->Keep(std::move(connection));
  co_return response;
}

Async<HttpResponse> Pool::Call(HttpRequest request) {
  co_await IgnoreCancellation();
  TimePoint deadline = clock_.Now() + request.timeout;
  Result<Message> message = ToMessage(request, origin_);
  if (!message) co_return message.error();
  Result<Slots::Lease> lease = co_await slots_->Acquire(deadline);
  if (!lease) co_return lease.error();

  // On an idle connection, which the peer may be closing concurrently.
  const AddressFilter any_address;
  const AddressFilter& may_connect = origin_.proxy ? any_address : request.may_connect;
  std::unique_ptr<Connection> kept = idle_->Take(may_connect);
  if (kept != nullptr) {
    bool may_retry = false;
    Result<HttpResponse> response =
        co_await CallOn(std::move(kept), request, *message, deadline, may_retry);
    if (response || !may_retry) co_return response;
  }

  // On a new connection. A cancellation that came while no operation was pending ends none.
  bool cancelled = co_await IsCancelled();
  if (cancelled) co_return Error::Cancelled(request.method + " " + request.target);
  Result<std::unique_ptr<Connection>> opened = co_await Open(may_connect, deadline);
  if (FailedWith(opened, Code::kUnavailable))
    co_return Error::FromHttpStatus(503, kNoConnection, opened.error().message());
  if (!opened) co_return opened.error();
  bool may_retry = false;
  Result<HttpResponse> response =
      co_await CallOn(std::move(*opened), request, *message, deadline, may_retry);
  co_return response;
}

Async<std::unique_ptr<HttpStream>> Pool::Stream(HttpRequest request) {
  co_await IgnoreCancellation();
  TimePoint deadline = clock_.Now() + request.timeout;
  Result<Message> message = ToMessage(request, origin_);
  if (!message) co_return message.error();
  Result<std::unique_ptr<Connection>> opened = co_await Open(request.may_connect, deadline);
  if (!opened) co_return opened.error();
  auto stream =
      std::make_unique<BodyStream>(std::move(*opened), LimitsOf(request), request.idle_timeout);
  stream->connection().ExpireAfter(deadline - clock_.Now());
  Result<> exchanged = co_await Exchange(stream->connection(), stream->reader(), *message);
  if (!exchanged) co_return exchanged.error();
  stream->KeepHeader();
  std::unique_ptr<HttpStream> result = std::move(stream);
  co_return std::move(result);
}

}  // namespace

std::string_view HttpResponse::Header(std::string_view name) const {
  for (auto& [key, value] : headers) {
    if (beast::iequals(key, name)) return value;
  }
  return {};
}

std::vector<std::string_view> HttpResponse::Headers(std::string_view name) const {
  std::vector<std::string_view> values;
  for (auto& [key, value] : headers) {
    if (beast::iequals(key, name)) values.push_back(value);
  }
  return values;
}

std::unique_ptr<HttpPool> HttpPool::New(Executor executor, Clock& clock, Origin origin,
                                        PoolOptions options) {
  return std::make_unique<Pool>(executor, clock, std::move(origin), options);
}

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "kube/server/https_server.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <charconv>
#include <exception>
#include <optional>

namespace kube {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

// Retry interval of accept() at the connection limit.
constexpr auto kRetryWhenFull = 5ms;
// Backoff after accept() failed (out of file descriptors or memory): doubles with each failure.
constexpr Duration kFirstBackoff = 5ms;
constexpr Duration kMaxBackoff = 500ms;

struct Address {
  // Empty: all addresses.
  std::optional<asio::ip::address> host;
  uint16_t port = 0;
};

Result<Address> ParseAddress(const std::string& text) {
  Error invalid = Error::Invalid(
      "not an address to listen on, such as 0.0.0.0:9443, [::]:9443 or :9443: \"" + text + "\"");
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return invalid;
  Address address;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end) return invalid;
  std::string host = text.substr(0, colon);
  if (host.empty()) return address;
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return invalid;
  }
  boost::system::error_code ec;
  address.host = asio::ip::make_address(host, ec);
  if (ec) return invalid;
  return address;
}

boost::system::error_code Bind(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  boost::system::error_code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
  }
  return ec;
}

}  // namespace

Result<std::unique_ptr<HttpsServer>> HttpsServer::New(Executor executor, Clock& clock,
                                                      HttpsServerOptions options) {
  std::unique_ptr<HttpsServer> server(
      new HttpsServer(std::move(executor), clock, std::move(options)));
  Result<void> listening = server->Listen();
  if (!listening) return listening.error();
  return server;
}

HttpsServer::HttpsServer(Executor executor, Clock& clock, HttpsServerOptions options)
    : executor_(std::move(executor)),
      clock_(clock),
      options_(std::move(options)),
      tls_(options_.certificate_file, options_.key_file),
      context_{clock,
               options_.limits,
               [this](HttpCall call) { return Answer(std::move(call)); },
               options_.on_refused,
               [this] { FreeMemory(); },
               false,
               0,
               options_.kept_headers},
      acceptor_(executor_),
      tasks_(executor_) {}

HttpsServer::~HttpsServer() = default;

Result<void> HttpsServer::Listen() {
  if (!options_.certificate_file.empty()) {
    Result<bool> loaded = tls_.Refresh();
    if (!loaded) return loaded.error();
  }
  Result<Address> address = ParseAddress(options_.address);
  if (!address) return address.error();

  boost::system::error_code ec;
  if (address->host) {
    ec = Bind(acceptor_, tcp::endpoint(*address->host, address->port));
  } else {
    // Both families; IPv4 only if the kernel has no IPv6.
    ec = Bind(acceptor_, tcp::endpoint(tcp::v6(), address->port));
    if (ec == asio::error::address_family_not_supported)
      ec = Bind(acceptor_, tcp::endpoint(tcp::v4(), address->port));
  }
  if (ec) return Error::Unavailable("cannot listen on " + options_.address + ": " + ec.message());
  port_ = acceptor_.local_endpoint().port();
  return Ok();
}

void HttpsServer::Handle(std::string method, std::string path, HttpHandler handler) {
  routes_.push_back({std::move(method), std::move(path), std::move(handler)});
}

asio::awaitable<HttpReply> HttpsServer::Answer(HttpCall call) {
  const Route* route = nullptr;
  bool path_known = false;
  for (const Route& candidate : routes_) {
    bool matches = candidate.path.ends_with('/') ? call.path.starts_with(candidate.path)
                                                 : call.path == candidate.path;
    path_known |= matches;
    if (matches && candidate.method == call.method && route == nullptr) route = &candidate;
  }
  if (route == nullptr) {
    co_return path_known ? FailureReply(405, "method not allowed")
                         : FailureReply(404, "no such path");
  }

  std::string failure;
  try {
    Result<HttpReply> reply = co_await route->handler(std::move(call));
    if (reply) co_return std::move(*reply);
    failure = reply.error().ToString();
  } catch (const std::exception& e) {
    failure = std::string("unexpected exception: ") + e.what();
  }
  LOG(ERROR) << "handler of " << route->path << ": " << failure;
  co_return FailureReply(500, failure);
}

asio::awaitable<void> HttpsServer::Run() {
  co_await IgnoreCancellation();
  if (tls_.context() != nullptr) tasks_.Spawn("certificate", RefreshCertificate());
  Duration backoff = kFirstBackoff;
  while (acceptor_.is_open()) {
    // Wait for a client before closing a connection for it.
    auto waited = co_await acceptor_.async_wait(tcp::acceptor::wait_read, kTuple);
    boost::system::error_code ec = std::get<0>(waited);
    if (!ec && !MakeRoom()) {
      Result<> paused = co_await clock_.Sleep(kRetryWhenFull);
      if (!paused) break;
      continue;
    }
    tcp::socket socket(executor_);
    if (!ec) {
      auto accepted = co_await acceptor_.async_accept(socket, kTuple);
      ec = std::get<0>(accepted);
    }
    if (ec == asio::error::operation_aborted || !acceptor_.is_open()) break;
    if (ec) {
      // The client disconnected, or no file descriptors: keep accepting. Closing a connection frees
      // a descriptor.
      LOG_EVERY_N(WARNING, 100) << "accept: " << ec.message();
      HttpSession* displaced = ec == asio::error::connection_aborted ? nullptr : LeastUseful();
      if (displaced != nullptr) displaced->Close();
      Result<> paused = co_await clock_.Sleep(backoff);
      if (!paused) break;
      backoff = std::min(2 * backoff, kMaxBackoff);
      continue;
    }
    backoff = kFirstBackoff;
    auto session = sessions_.insert(sessions_.end(),
                                    NewHttpSession(std::move(socket), tls_.context(), context_));
    tasks_.Spawn("connection", Serve(session));
  }
}

asio::awaitable<void> HttpsServer::Serve(Sessions::iterator session) {
  co_await (*session)->Run();
  sessions_.erase(session);
}

bool HttpsServer::MakeRoom() {
  size_t open = 0;
  for (auto& session : sessions_) open += session->closed() ? 0 : 1;
  if (open < options_.max_connections) return true;
  HttpSession* displaced = LeastUseful();
  if (displaced == nullptr) return false;
  // Its coroutine removes it from the list later.
  displaced->Close();
  return true;
}

HttpSession* HttpsServer::LeastUseful() {
  HttpSession* overdue = nullptr;
  HttpSession* idle = nullptr;
  size_t idle_count = 0;
  size_t unfinished = 0;
  auto older = [](const HttpSession& session, const HttpSession* than) {
    return than == nullptr || session.since() < than->since();
  };
  for (auto& session : sessions_) {
    if (session->closed() || session->phase() == HttpSession::Phase::kAnswering) continue;
    if (session->phase() == HttpSession::Phase::kClosing) return session.get();
    if (session->phase() == HttpSession::Phase::kIdle && session->served()) {
      ++idle_count;
      if (older(*session, idle)) idle = session.get();
      continue;
    }
    ++unfinished;
    if (older(*session, overdue) && Overdue(*session)) overdue = session.get();
  }
  if (overdue != nullptr) return overdue;
  // Keeps a balance between connections without a request yet and idle ones with served requests:
  // neither group can displace all of the other.
  return unfinished == 0 || idle_count > options_.max_connections / 2 ? idle : nullptr;
}

bool HttpsServer::Overdue(const HttpSession& session) const {
  TimePoint now = clock_.Now();
  if (now - session.since() >= options_.max_unfinished) return true;
  if (session.phase() == HttpSession::Phase::kReplying)
    return now - session.since() >= options_.max_silence;
  return now - session.last_seen() >= options_.max_silence && session.Quiet();
}

void HttpsServer::FreeMemory() {
  HttpSession* largest = nullptr;
  for (auto& session : sessions_) {
    if (session->closed() || session->phase() == HttpSession::Phase::kAnswering) continue;
    if (session->reserved_bytes() <= (largest == nullptr ? 0 : largest->reserved_bytes())) continue;
    if (Overdue(*session)) largest = session.get();
  }
  if (largest != nullptr) largest->Close();
}

asio::awaitable<void> HttpsServer::RefreshCertificate() {
  co_await IgnoreCancellation();
  while (true) {
    Result<> slept = co_await clock_.Sleep(options_.refresh_interval);
    if (!slept) co_return;
    Result<bool> refreshed = tls_.Refresh();
    if (!refreshed) {
      LOG(ERROR) << "keeping the previous certificate: " << refreshed.error();
    } else if (*refreshed) {
      LOG(INFO) << "new certificate from " << options_.certificate_file;
    }
  }
}

Async<> HttpsServer::Drain(Duration grace) {
  // The caller has been asked to stop, which must not cancel the drain.
  co_await ForgetCancellation();
  co_await IgnoreCancellation();
  TimePoint deadline = clock_.Now() + grace;
  boost::system::error_code ec;
  acceptor_.close(ec);
  Retire();
  while (!sessions_.empty() && clock_.Now() < deadline) {
    for (auto& session : sessions_) {
      bool idle = session->phase() == HttpSession::Phase::kIdle ||
                  session->phase() == HttpSession::Phase::kClosing;
      if (idle) session->Close();
    }
    Result<> slept = co_await clock_.Sleep(1ms);
    if (!slept) break;
  }
  size_t cut_off = sessions_.size();
  for (auto& session : sessions_) session->Close();
  Result<> stopped = co_await tasks_.Stop(clock_, 1s);
  if (!stopped) co_return stopped.error();
  if (cut_off > 0)
    co_return Error::DeadlineExceeded(std::to_string(cut_off) + " requests were still in flight");
  co_return Ok();
}

}  // namespace kube

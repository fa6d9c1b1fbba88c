// SPDX-License-Identifier: Apache-2.0
#include "kube/http/resolve.h"

#include <ares.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <map>
#include <memory>

namespace kube {
namespace {

using asio::ip::tcp;

constexpr size_t kMaxEndpoints = 16;
// Timeout of the first attempt per server; it doubles with each further attempt. A name with search
// domains takes several queries.
constexpr int kTryMilliseconds = 1000;
constexpr int kTries = 3;

thread_local size_t lookups_in_flight = 0;

// One lookup. c-ares names the sockets to wait for, and until when; c-ares keeps owning the
// sockets. Handlers that Asio may call after the lookup was destroyed hold a weak pointer.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(const Executor& executor, uint16_t port)
      : executor_(executor), port_(port), retry_(executor), done_(executor) {
    ++lookups_in_flight;
  }
  ~Lookup() {
    ended_ = true;
    // Ends the query and closes the sockets, after a call of OnSocket() for each.
    if (channel_ != nullptr) ares_destroy(channel_);
    --lookups_in_flight;
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // Returns ARES_SUCCESS, or the reason why the lookup did not start. It may end before this
  // returns.
  int Begin(const std::string& host, const NameServers& servers) {
    static const int library = ares_library_init(ARES_LIB_INIT_ALL);
    if (library != ARES_SUCCESS) return library;
    char lookups[] = "fb";  // the hosts file, then name servers
    std::string resolv_conf = servers.resolv_conf;
    ares_options options = {};
    options.lookups = lookups;
    options.timeout = kTryMilliseconds;
    options.tries = kTries;
    options.udp_port = servers.port;
    options.tcp_port = servers.port;
    options.sock_state_cb = &OnSocket;
    options.sock_state_cb_data = this;
    int wanted = ARES_OPT_LOOKUPS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_UDP_PORT |
                 ARES_OPT_TCP_PORT | ARES_OPT_SOCK_STATE_CB;
    if (!resolv_conf.empty()) {
      options.resolvconf_path = resolv_conf.data();
      wanted |= ARES_OPT_RESOLVCONF;
    }
    int status = ares_init_options(&channel_, &options, wanted);
    if (status != ARES_SUCCESS) return status;
    ares_addrinfo_hints hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, &OnAddresses, this);
    Continue();
    return ARES_SUCCESS;
  }

  bool ended() const { return ended_; }
  // Runs until the lookup cancels it.
  asio::steady_timer& done() { return done_; }
  // ARES_SUCCESS, or the reason why there are no endpoints.
  int status() const { return status_; }
  std::vector<tcp::endpoint>& endpoints() { return endpoints_; }

 private:
  struct Socket {
    Socket(const Executor& executor, ares_socket_t fd) : descriptor(executor, fd) {}

    asio::posix::stream_descriptor descriptor;
    bool wants_read = false;
    bool wants_write = false;
    bool waits_read = false;
    bool waits_write = false;
  };

  static void OnAddresses(void* self, int status, int, ares_addrinfo* result) {
    static_cast<Lookup*>(self)->End(status, result);
    if (result != nullptr) ares_freeaddrinfo(result);
  }

  void End(int status, const ares_addrinfo* result) {
    if (ended_) return;
    ended_ = true;
    status_ = status;
    for (auto* node = result == nullptr ? nullptr : result->nodes; node != nullptr;
         node = node->ai_next) {
      if (endpoints_.size() == kMaxEndpoints) break;
      if (node->ai_family == AF_INET) {
        const auto* address = reinterpret_cast<const sockaddr_in*>(node->ai_addr);
        endpoints_.emplace_back(asio::ip::address_v4(ntohl(address->sin_addr.s_addr)), port_);
      } else if (node->ai_family == AF_INET6) {
        const auto* address = reinterpret_cast<const sockaddr_in6*>(node->ai_addr);
        asio::ip::address_v6::bytes_type bytes;
        std::copy_n(address->sin6_addr.s6_addr, bytes.size(), bytes.begin());
        endpoints_.emplace_back(asio::ip::address_v6(bytes, address->sin6_scope_id), port_);
      }
    }
    done_.cancel();
  }

  // Called by c-ares when it opens a socket, waits for other events on it, or is about to close it.
  static void OnSocket(void* lookup, ares_socket_t fd, int readable, int writable) {
    auto* self = static_cast<Lookup*>(lookup);
    auto found = self->sockets_.find(fd);
    if (readable == 0 && writable == 0) {
      if (found == self->sockets_.end()) return;
      found->second->descriptor.release();
      self->sockets_.erase(found);
      return;
    }
    if (found == self->sockets_.end()) {
      found = self->sockets_.emplace(fd, std::make_shared<Socket>(self->executor_, fd)).first;
    }
    found->second->wants_read = readable != 0;
    found->second->wants_write = writable != 0;
  }

  // Waits for the events that c-ares asked for.
  void Continue() {
    if (ended_) return;
    for (auto& [fd, socket] : sockets_) {
      using Wait = asio::posix::stream_descriptor;
      if (socket->wants_read) Await(fd, socket, Wait::wait_read, &Socket::waits_read);
      if (socket->wants_write) Await(fd, socket, Wait::wait_write, &Socket::waits_write);
    }
    timeval longest = {kTryMilliseconds / 1000, 0};
    timeval left = {};
    timeval* next = ares_timeout(channel_, &longest, &left);
    retry_.expires_after(std::chrono::seconds(next->tv_sec) +
                         std::chrono::microseconds(next->tv_usec));
    retry_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
      std::shared_ptr<Lookup> self = weak.lock();
      if (!ec && self != nullptr) self->Process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    });
  }

  void Await(ares_socket_t fd, const std::shared_ptr<Socket>& socket,
             asio::posix::stream_descriptor::wait_type what, bool Socket::*waits) {
    if ((*socket).*waits) return;
    (*socket).*waits = true;
    bool read = what == asio::posix::stream_descriptor::wait_read;
    socket->descriptor.async_wait(
        what, [weak = weak_from_this(), of = std::weak_ptr<Socket>(socket), fd, waits,
               read](boost::system::error_code ec) {
          std::shared_ptr<Lookup> self = weak.lock();
          // The descriptor may belong to another socket by now.
          std::shared_ptr<Socket> socket = of.lock();
          if (self == nullptr || socket == nullptr) return;
          (*socket).*waits = false;
          if (!ec) self->Process(read ? fd : ARES_SOCKET_BAD, read ? ARES_SOCKET_BAD : fd);
        });
  }

  void Process(ares_socket_t readable, ares_socket_t writable) {
    if (ended_) return;
    ares_process_fd(channel_, readable, writable);
    Continue();
  }

  Executor executor_;
  uint16_t port_;
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, std::shared_ptr<Socket>> sockets_;
  asio::steady_timer retry_;
  asio::steady_timer done_;
  bool ended_ = false;
  int status_ = ARES_SUCCESS;
  std::vector<tcp::endpoint> endpoints_;
};

}  // namespace

Async<std::vector<tcp::endpoint>> Resolve(std::string host, std::string port, NameServers servers,
                                          Clock& clock, TimePoint deadline) {
  co_await IgnoreCancellation();
  uint16_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  boost::system::error_code no_address;
  asio::ip::address address = asio::ip::make_address(host, no_address);
  if (!no_address) co_return std::vector<tcp::endpoint>{tcp::endpoint(address, number)};

  std::string what = "resolve " + host;
  if (lookups_in_flight >= kMaxLookups)
    co_return Error::Unavailable(what + ": too many concurrent lookups");
  auto executor = co_await asio::this_coro::executor;
  auto lookup = std::make_shared<Lookup>(executor, number);
  lookup->done().expires_after(deadline - clock.Now());
  int begun = lookup->Begin(host, servers);
  if (begun != ARES_SUCCESS) co_return Error::Unavailable(what + ": " + ares_strerror(begun));
  if (!lookup->ended()) {
    auto waited = co_await lookup->done().async_wait(kTuple);
    bool interrupted = static_cast<bool>(std::get<0>(waited));
    if (!lookup->ended() && interrupted) co_return Error::Cancelled(what);
    if (!lookup->ended()) co_return Error::DeadlineExceeded(what);
  }
  if (lookup->status() != ARES_SUCCESS)
    co_return Error::Unavailable(what + ": " + ares_strerror(lookup->status()));
  if (lookup->endpoints().empty()) co_return Error::Unavailable(what + ": no address");
  co_return std::move(lookup->endpoints());
}

}  // namespace kube

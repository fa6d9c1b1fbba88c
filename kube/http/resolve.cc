// SPDX-License-Identifier: Apache-2.0
#include "kube/http/resolve.h"

#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <memory>

namespace kube {
namespace {

using asio::ip::tcp;

constexpr size_t kMaxEndpoints = 16;

// Outlives the caller who gave up on it.
struct Lookup {
  explicit Lookup(const Executor& executor) : resolver(executor), done(executor) {}

  tcp::resolver resolver;
  asio::steady_timer done;
  bool finished = false;
  boost::system::error_code ec;
  std::vector<tcp::endpoint> endpoints;
};

}  // namespace

Async<std::vector<tcp::endpoint>> Resolve(std::string host, std::string port, Clock& clock, TimePoint deadline) {
  co_await IgnoreCancellation();
  uint16_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  boost::system::error_code no_address;
  asio::ip::address address = asio::ip::make_address(host, no_address);
  if (!no_address) co_return std::vector<tcp::endpoint>{tcp::endpoint(address, number)};

  auto executor = co_await asio::this_coro::executor;
  auto lookup = std::make_shared<Lookup>(executor);
  lookup->done.expires_after(deadline - clock.Now());
  lookup->resolver.async_resolve(
      host, port, tcp::resolver::numeric_service | tcp::resolver::address_configured,
      [lookup](boost::system::error_code ec, tcp::resolver::results_type results) {
        lookup->finished = true;
        lookup->ec = ec;
        for (auto& entry : results) {
          if (lookup->endpoints.size() < kMaxEndpoints) lookup->endpoints.push_back(entry.endpoint());
        }
        lookup->done.cancel();
      });
  auto waited = co_await lookup->done.async_wait(kTuple);
  if (!lookup->finished) {
    lookup->resolver.cancel();
    if (std::get<0>(waited)) co_return Error::Cancelled("resolve " + host);
    co_return Error::DeadlineExceeded("resolve " + host);
  }
  if (lookup->ec) co_return Error::Unavailable("resolve " + host + ": " + lookup->ec.message());
  if (lookup->endpoints.empty()) co_return Error::Unavailable("resolve " + host + ": no address");
  co_return std::move(lookup->endpoints);
}

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/probe.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>

namespace e2e {

namespace asio = boost::asio;
using kube::Async;
using kube::Error;
using kube::kTuple;

namespace {

// Closes the socket after the limit, which ends its pending operation with an error.
void CloseAfter(asio::steady_timer& timer, std::shared_ptr<asio::ip::tcp::socket> socket,
                std::chrono::milliseconds limit) {
  timer.expires_after(limit);
  timer.async_wait([socket = std::move(socket)](boost::system::error_code ec) {
    if (!ec) socket->close(ec);
  });
}

}  // namespace

Async<int> ProbeHttp(std::string ip, int port, std::string path, std::chrono::milliseconds limit) {
  co_await kube::IgnoreCancellation();
  boost::system::error_code bad_address;
  asio::ip::tcp::endpoint endpoint(asio::ip::make_address(ip, bad_address),
                                   static_cast<uint16_t>(port));
  if (bad_address) co_return Error::Invalid("not an address: " + ip);

  auto executor = co_await asio::this_coro::executor;
  auto socket = std::make_shared<asio::ip::tcp::socket>(executor);
  asio::steady_timer timer(executor);
  CloseAfter(timer, socket, limit);

  auto connected = co_await socket->async_connect(endpoint, kTuple);
  if (std::get<0>(connected)) co_return Error::Unavailable(std::get<0>(connected).message());
  std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: " + ip + "\r\nConnection: close\r\n\r\n";
  auto written = co_await asio::async_write(*socket, asio::buffer(request), kTuple);
  if (std::get<0>(written)) co_return Error::Unavailable(std::get<0>(written).message());
  std::string head;
  auto buffer = asio::dynamic_buffer(head, 1024);
  auto read = co_await asio::async_read_until(*socket, buffer, '\n', kTuple);
  if (std::get<0>(read)) co_return Error::Unavailable(std::get<0>(read).message());

  // "HTTP/1.1 200 OK"
  if (!head.starts_with("HTTP/1.") || head.size() < 12) co_return Error::Unavailable("not HTTP");
  co_return std::atoi(head.c_str() + 9);
}

}  // namespace e2e

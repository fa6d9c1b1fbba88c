// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/stage/etcd_calls.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <memory>

#include "kube/types/unstructured.h"

namespace e2e {

namespace asio = boost::asio;
using asio::ip::tcp;
using kube::Async;
using kube::Error;
using kube::kTuple;
using kube::Ok;
using kube::Result;

namespace {

constexpr uint16_t kPort = 2379;
constexpr std::chrono::seconds kLimit{2};

// The body of the answer to a POST. HTTP/1.0: the answer ends with the connection.
Async<std::string> Post(std::string host, std::string path, std::string body) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await asio::this_coro::executor;
  auto socket = std::make_shared<tcp::socket>(executor);
  asio::steady_timer timer(executor, kLimit);
  timer.async_wait([socket](boost::system::error_code ec) {
    if (!ec) socket->close(ec);
  });

  tcp::endpoint endpoint(asio::ip::make_address(host), kPort);
  auto connected = co_await socket->async_connect(endpoint, kTuple);
  if (std::get<0>(connected)) co_return Error::Unavailable(std::get<0>(connected).message());
  std::string request = "POST " + path + " HTTP/1.0\r\nHost: " + host +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  auto written = co_await asio::async_write(*socket, asio::buffer(request), kTuple);
  if (std::get<0>(written)) co_return Error::Unavailable(std::get<0>(written).message());
  std::string answer;
  auto buffer = asio::dynamic_buffer(answer, 1 << 20);
  auto read = co_await asio::async_read(*socket, buffer, asio::transfer_all(), kTuple);
  if (std::get<0>(read) != asio::error::eof)
    co_return Error::Unavailable(std::get<0>(read).message());

  // "HTTP/1.0 200 OK"
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos || answer.find(" 200 ") > answer.find('\r'))
    co_return Error::Unavailable("etcd at " + host + path + ": " + answer.substr(0, 300));
  co_return answer.substr(end + 4);
}

// Numbers of 64 bits are texts in etcd's JSON.
int64_t NumberAt(const kube::Json& json, const std::string& path) {
  const std::string text = kube::StringAt(json, path);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<EtcdStatus> ParseEtcdStatus(const std::string& answer) {
  Result<kube::Json> status = kube::ParseJson(answer);
  if (!status) return status.error();
  const std::string leader = kube::StringAt(*status, "leader");
  if (leader.empty() || leader == "0") return Error::Unavailable("etcd has no leader");
  return EtcdStatus{.leads = leader == kube::StringAt(*status, "header.member_id"),
                    .revision = NumberAt(*status, "header.revision")};
}

Async<EtcdStatus> StatusOfEtcd(std::string host) {
  std::string path = "/v3/maintenance/status";
  std::string body = "{}";
  Result<std::string> answer = co_await Post(std::move(host), std::move(path), std::move(body));
  if (!answer) co_return answer.error();
  co_return ParseEtcdStatus(*answer);
}

Async<> CompactEtcd(std::string host, int64_t revision) {
  std::string path = "/v3/kv/compaction";
  std::string body = "{\"revision\": \"" + std::to_string(revision) + "\"}";
  Result<std::string> answer = co_await Post(std::move(host), std::move(path), std::move(body));
  if (!answer) co_return answer.error();
  co_return Ok();
}

}  // namespace e2e

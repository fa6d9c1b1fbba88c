// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/connect_proxy.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <set>
#include <utility>

namespace inspection {
namespace {

namespace asio = kube::asio;
using asio::ip::tcp;
using Socket = std::shared_ptr<tcp::socket>;

void Rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

void Close(const Socket& socket) {
  boost::system::error_code ignored;
  socket->close(ignored);
}

// Copies until one side closes, then closes both.
asio::awaitable<void> Copy(Socket from, Socket to) {
  char bytes[16 * 1024];
  while (true) {
    auto read = co_await from->async_read_some(asio::buffer(bytes), kube::kTuple);
    if (std::get<0>(read)) break;
    asio::const_buffer piece(bytes, std::get<1>(read));
    auto written = co_await asio::async_write(*to, piece, kube::kTuple);
    if (std::get<0>(written)) break;
  }
  Close(from);
  Close(to);
}

}  // namespace

struct ConnectProxy::State {
  explicit State(const kube::Executor& executor) : acceptor(executor) {}
  tcp::acceptor acceptor;
  std::map<std::string, std::string> routes;
  std::vector<std::string> asked;
  std::set<Socket> sockets;
};

namespace {

template <class State>
asio::awaitable<void> Serve(std::shared_ptr<State> state, Socket client) {
  std::string head;
  char bytes[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    auto read = co_await client->async_read_some(asio::buffer(bytes), kube::kTuple);
    if (std::get<0>(read)) co_return;
    head.append(bytes, std::get<1>(read));
  }
  size_t space = head.find(' ');
  std::string target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  state->asked.push_back(target);
  auto route = state->routes.find(target);
  std::string answer = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
  auto server = std::make_shared<tcp::socket>(state->acceptor.get_executor());
  bool connected = false;
  if (head.starts_with("CONNECT ") && route != state->routes.end()) {
    tcp::endpoint endpoint(asio::ip::address_v4::loopback(),
                           static_cast<unsigned short>(std::stoi(route->second)));
    auto connect = co_await server->async_connect(endpoint, kube::kTuple);
    connected = !std::get<0>(connect);
  }
  if (connected) answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  auto written = co_await asio::async_write(*client, asio::buffer(answer), kube::kTuple);
  if (std::get<0>(written) || !connected) co_return;
  state->sockets.insert(server);
  asio::co_spawn(state->acceptor.get_executor(), Copy(server, client), Rethrow);
  co_await Copy(client, server);
  state->sockets.erase(server);
}

template <class State>
asio::awaitable<void> ServeAndForget(std::shared_ptr<State> state, Socket client) {
  state->sockets.insert(client);
  co_await Serve(state, client);
  Close(client);
  state->sockets.erase(client);
}

}  // namespace

asio::awaitable<void> ConnectProxy::Accept(std::shared_ptr<State> state) {
  while (state->acceptor.is_open()) {
    auto accepted = co_await state->acceptor.async_accept(kube::kTuple);
    auto& [ec, socket] = accepted;
    if (ec) break;
    auto client = std::make_shared<tcp::socket>(std::move(socket));
    asio::co_spawn(state->acceptor.get_executor(), ServeAndForget(state, client), Rethrow);
  }
}

ConnectProxy::ConnectProxy(kube::Executor executor) : state_(std::make_shared<State>(executor)) {
  tcp::endpoint endpoint(asio::ip::address_v4::loopback(), 0);
  state_->acceptor.open(endpoint.protocol());
  state_->acceptor.bind(endpoint);
  state_->acceptor.listen();
  asio::co_spawn(executor, Accept(state_), Rethrow);
}

ConnectProxy::~ConnectProxy() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  for (const Socket& socket : state_->sockets) Close(socket);
}

std::string ConnectProxy::url() const {
  return "http://127.0.0.1:" + std::to_string(state_->acceptor.local_endpoint().port());
}

void ConnectProxy::Route(const std::string& host, const std::string& port) {
  state_->routes[host + ":443"] = port;
}

const std::vector<std::string>& ConnectProxy::asked() const { return state_->asked; }

}  // namespace inspection

// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/proxy/fault_proxy.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "e2e/chaos/proxy/proxied_connection.h"

namespace e2e {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using kube::Error;
using kube::Ok;
using kube::Result;

tcp::endpoint AddressAt(const std::string& ip, int port) {
  return {asio::ip::make_address(ip), static_cast<uint16_t>(port)};
}

// Lives as long as one of its operations is pending. Thread: the loop's.
class FaultProxy::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, const std::vector<Endpoint>& targets)
      : io_(io), acceptor_(io), retry_(io) {
    for (const Endpoint& target : targets) links_.push_back({target});
  }

  Result<> Listen(const Endpoint& listen) {
    error_code ec;
    acceptor_.open(listen.protocol(), ec);
    if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor_.bind(listen, ec);
    if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) address_ = acceptor_.local_endpoint(ec);
    if (ec) {
      return Error::Unavailable("listen on " + listen.address().to_string() + ":" +
                                std::to_string(listen.port()) + ": " + ec.message());
    }
    Accept();
    return Ok();
  }

  void Close() {
    error_code ec;
    acceptor_.close(ec);
    retry_.cancel();
    for (size_t i = 0; i < links_.size(); ++i) Reset(i);
  }

  const Endpoint& address() const { return address_; }
  size_t targets() const { return links_.size(); }

  void Set(size_t target, const LinkFaults& faults) {
    *links_.at(target).faults = faults;
    for (auto& connection : Open(target)) connection->Continue();
  }

  void Reset(size_t target) {
    for (auto& connection : Open(target)) connection->Reset();
    links_[target].connections.clear();
  }

  // The connections to a target that are open.
  std::vector<std::shared_ptr<ProxiedConnection>> Open(size_t target) {
    std::vector<std::shared_ptr<ProxiedConnection>> open;
    for (const auto& weak : links_.at(target).connections) {
      if (auto connection = weak.lock(); connection && connection->open())
        open.push_back(std::move(connection));
    }
    return open;
  }

 private:
  struct Link {
    Endpoint target;
    std::shared_ptr<LinkFaults> faults = std::make_shared<LinkFaults>();
    std::vector<std::weak_ptr<ProxiedConnection>> connections = {};
  };

  void Accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code ec, tcp::socket client) {
      if (!self->acceptor_.is_open()) return;
      if (ec) {
        // No descriptors are left, for example: later there may be some.
        self->retry_.expires_after(std::chrono::milliseconds(20));
        self->retry_.async_wait([self](error_code cancelled) {
          if (!cancelled && self->acceptor_.is_open()) self->Accept();
        });
        return;
      }
      const size_t first = self->next_++ % self->links_.size();
      self->Connect(std::make_shared<tcp::socket>(std::move(client)), first, self->links_.size());
      self->Accept();
    });
  }

  // Connects to `target`, or else to one of the next `tries` - 1.
  void Connect(std::shared_ptr<tcp::socket> client, size_t target, size_t tries) {
    if (tries == 0) {
      ResetSocket(*client);
      return;
    }
    const size_t next = (target + 1) % links_.size();
    if (links_[target].faults->refuse) {
      Connect(std::move(client), next, tries - 1);
      return;
    }
    auto server = std::make_shared<tcp::socket>(io_);
    server->async_connect(links_[target].target, [self = shared_from_this(), client, server, target,
                                                  next, tries](error_code ec) {
      if (!self->acceptor_.is_open()) {
        ResetSocket(*client);
      } else if (ec) {
        self->Connect(client, next, tries - 1);
      } else {
        self->Begin(std::move(*client), std::move(*server), target);
      }
    });
  }

  void Begin(tcp::socket client, tcp::socket server, size_t target) {
    Link& link = links_[target];
    std::erase_if(link.connections, [](const auto& weak) { return weak.expired(); });
    auto connection =
        std::make_shared<ProxiedConnection>(std::move(client), std::move(server), link.faults);
    link.connections.push_back(connection);
    connection->Start();
  }

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  Endpoint address_;
  std::vector<Link> links_;
  size_t next_ = 0;
};

Result<std::unique_ptr<FaultProxy>> FaultProxy::Listen(ProxyThread& thread, const Endpoint& listen,
                                                       std::vector<Endpoint> targets) {
  auto impl = std::make_shared<Impl>(thread.io(), targets);
  Result<> listening = thread.Run([&] { return impl->Listen(listen); });
  if (!listening) return listening.error();
  return std::unique_ptr<FaultProxy>(new FaultProxy(thread, std::move(impl)));
}

FaultProxy::~FaultProxy() {
  thread_.Run([this] { impl_->Close(); });
}

FaultProxy::Endpoint FaultProxy::address() const { return impl_->address(); }

size_t FaultProxy::targets() const { return impl_->targets(); }

void FaultProxy::Set(size_t target, LinkFaults faults) {
  thread_.Run([&] { impl_->Set(target, faults); });
}

void FaultProxy::Reset(size_t target) {
  thread_.Run([&] { impl_->Reset(target); });
}

void FaultProxy::Heal() {
  thread_.Run([this] {
    for (size_t i = 0; i < impl_->targets(); ++i) impl_->Set(i, {});
  });
}

size_t FaultProxy::connections(size_t target) const {
  return thread_.Run([&] { return impl_->Open(target).size(); });
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/proxy/proxied_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace e2e {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// What waits for a held or delayed direction; the sender is blocked beyond it, as by a full window.
constexpr size_t kMaxQueued = 1 << 20;

}  // namespace

void ResetSocket(tcp::socket& socket) {
  error_code ec;
  // Fails for a socket that is closed or was reset by its peer, which is as good.
  socket.set_option(tcp::socket::linger(true, 0), ec);
  socket.close(ec);
}

ProxiedConnection::ProxiedConnection(Socket client, Socket target,
                                     std::shared_ptr<const LinkFaults> faults)
    : client_(std::move(client)),
      target_(std::move(target)),
      faults_(std::move(faults)),
      up_(client_, target_, /*target=*/true),
      down_(target_, client_, /*target=*/false) {}

void ProxiedConnection::Start() {
  error_code ec;
  client_.set_option(tcp::no_delay(true), ec);
  target_.set_option(tcp::no_delay(true), ec);
  Continue();
}

void ProxiedConnection::Continue() {
  for (Flow* flow : {&up_, &down_}) {
    Deliver(*flow);
    Read(*flow);
  }
}

void ProxiedConnection::Reset() {
  ResetSocket(client_);
  ResetSocket(target_);
  up_.timer.cancel();
  down_.timer.cancel();
}

void ProxiedConnection::Close() {
  error_code ec;
  client_.close(ec);
  target_.close(ec);
}

bool ProxiedConnection::Holds(const Flow& flow) const {
  return flow.to_target ? faults_->hold_to_target : faults_->hold_to_client;
}

void ProxiedConnection::Read(Flow& flow) {
  if (!open() || flow.reading || flow.ended || flow.queued >= kMaxQueued) return;
  flow.reading = true;
  flow.from.async_read_some(asio::buffer(flow.buffer), [self = shared_from_this(), &flow](
                                                           error_code ec, size_t size) {
    flow.reading = false;
    if (ec == asio::error::eof) {
      flow.ended = true;
      self->Deliver(flow);
      return;
    }
    if (ec) {
      self->Reset();
      return;
    }
    auto delay = flow.to_target ? self->faults_->delay_to_target : self->faults_->delay_to_client;
    Clock::time_point due = Clock::now() + delay;
    if (!flow.chunks.empty()) due = std::max(due, flow.chunks.back().due);
    flow.chunks.push_back({due, std::string(flow.buffer.data(), size)});
    flow.queued += size;
    self->Deliver(flow);
    self->Read(flow);
  });
}

void ProxiedConnection::Deliver(Flow& flow) {
  if (!open() || flow.writing || Holds(flow)) return;
  if (flow.chunks.empty()) {
    if (flow.ended) SendEnd(flow);
    return;
  }
  const Clock::time_point due = flow.chunks.front().due;
  if (due > Clock::now()) {
    flow.timer.expires_at(due);
    flow.timer.async_wait([self = shared_from_this(), &flow](error_code ec) {
      if (!ec) self->Deliver(flow);
    });
    return;
  }
  flow.writing = true;
  asio::async_write(flow.to, asio::buffer(flow.chunks.front().bytes),
                    [self = shared_from_this(), &flow](error_code ec, size_t size) {
                      flow.writing = false;
                      if (ec) {
                        self->Reset();
                        return;
                      }
                      flow.queued -= size;
                      flow.chunks.pop_front();
                      self->Deliver(flow);
                      self->Read(flow);
                    });
}

void ProxiedConnection::SendEnd(Flow& flow) {
  if (flow.end_sent) return;
  flow.end_sent = true;
  error_code ec;
  flow.to.shutdown(tcp::socket::shutdown_send, ec);
  if (up_.end_sent && down_.end_sent) Close();
}

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// ProxiedConnection: one connection through a FaultProxy.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "e2e/chaos/proxy/link_faults.h"

namespace e2e {

// Thread: that of its sockets. It keeps itself alive while it forwards.
class ProxiedConnection : public std::enable_shared_from_this<ProxiedConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  // Both sockets are connected. The proxy changes `faults`.
  ProxiedConnection(Socket client, Socket target, std::shared_ptr<const LinkFaults> faults);

  void Start();
  // The faults have changed.
  void Continue();
  // Ends it with a TCP reset on both sides.
  void Reset();
  bool open() const { return client_.is_open(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Chunk {
    Clock::time_point due;
    std::string bytes;
  };
  // One direction.
  struct Flow {
    Flow(Socket& from_end, Socket& to_end, bool target)
        : from(from_end), to(to_end), to_target(target), timer(from_end.get_executor()) {}

    Socket& from;
    Socket& to;
    const bool to_target;
    boost::asio::steady_timer timer;
    std::array<char, 16 * 1024> buffer;
    std::deque<Chunk> chunks;
    size_t queued = 0;
    bool reading = false;
    bool writing = false;
    // The sender has closed its end, and that was forwarded.
    bool ended = false;
    bool end_sent = false;
  };

  bool Holds(const Flow& flow) const;
  void Read(Flow& flow);
  void Deliver(Flow& flow);
  void SendEnd(Flow& flow);
  void Close();

  Socket client_;
  Socket target_;
  std::shared_ptr<const LinkFaults> faults_;
  Flow up_;
  Flow down_;
};

// Closes a socket so that its peer gets a TCP reset.
void ResetSocket(boost::asio::ip::tcp::socket& socket);

}  // namespace e2e

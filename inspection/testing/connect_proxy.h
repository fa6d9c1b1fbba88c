// SPDX-License-Identifier: Apache-2.0
// ConnectProxy: an HTTP proxy on 127.0.0.1 whose tunnels lead to servers of the test, by the host
// that the client asks for. So code under test calls hosts of clouds by their real names and ports,
// and verifies the certificates of these names.
//
//   ConnectProxy proxy(io.get_executor());
//   proxy.Route("sts.us-east-1.amazonaws.com", server.url().port);
//   setenv("HTTPS_PROXY", proxy.url().c_str(), 1);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"

namespace inspection {

class ConnectProxy {
 public:
  explicit ConnectProxy(kube::Executor executor);
  ~ConnectProxy();

  std::string url() const;
  // Tunnels to port 443 of `host` lead to 127.0.0.1:`port`. All others are refused with 502.
  void Route(const std::string& host, const std::string& port);
  // "host:port" of each tunnel that was asked for.
  const std::vector<std::string>& asked() const;

 private:
  struct State;
  static kube::asio::awaitable<void> Accept(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace inspection

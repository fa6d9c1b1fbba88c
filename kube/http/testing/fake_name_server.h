// SPDX-License-Identifier: Apache-2.0
// FakeNameServer: a DNS server on 127.0.0.1 and the test's own event loop, and a resolv.conf that
// names it.
//
//   FakeNameServer names(io.get_executor());
//   names.Add("registry.test", {"10.0.0.1", "fd00::1"});
//   ... Resolve("registry.test", "443", names.servers(), clock, deadline) ...
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/http/resolve.h"

namespace kube {

class FakeNameServer {
 public:
  // `options`: further lines of resolv.conf ("search a b", "options ndots:5").
  explicit FakeNameServer(Executor executor, const std::string& options = "");
  ~FakeNameServer();

  NameServers servers() const;
  // From now on the name has these addresses; all others do not exist.
  void Add(const std::string& name, std::vector<std::string> addresses);
  // From now on no question about a name that ends like this is answered; "": none at all.
  void KeepSilentAbout(const std::string& suffix);

  // "registry.test A", as asked.
  const std::vector<std::string>& asked() const;

 private:
  struct State;
  static asio::awaitable<void> Serve(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace kube

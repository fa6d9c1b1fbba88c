// SPDX-License-Identifier: Apache-2.0
// FakeNameServer: a DNS server on 127.0.0.1 in the test's event loop, with a resolv.conf that names
// it.
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
  // `options`: additional lines of resolv.conf ("search a b", "options ndots:5").
  explicit FakeNameServer(Executor executor, const std::string& options = "");
  ~FakeNameServer();

  NameServers servers() const;
  // Adds a name with its addresses; names that were not added do not exist.
  void Add(const std::string& name, std::vector<std::string> addresses);
  // From now on sends no reply to queries for names with this suffix; "": to any query.
  void IgnoreQueriesFor(const std::string& suffix);

  // The received queries: "registry.test A".
  const std::vector<std::string>& asked() const;

 private:
  struct State;
  static asio::awaitable<void> Serve(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace kube

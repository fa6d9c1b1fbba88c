// SPDX-License-Identifier: Apache-2.0
// HttpApiServer: a FakeApiServer for processes under test: over HTTP on 127.0.0.1, on a thread of
// its own, so that a test may wait for its process.
//
//   HttpApiServer server(folder);
//   Subprocess process(program, {"--kubeconfig=" + server.kubeconfig()});
//   server.With([](FakeApiServer& api) { api.Create(lease); });
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "kube/http/testing/scripted_server.h"
#include "kube/testing/fake_api_server.h"

namespace kube {

class HttpApiServer {
 public:
  // Writes the kubeconfig into `folder`.
  explicit HttpApiServer(const std::string& folder);
  ~HttpApiServer();

  const std::string& kubeconfig() const { return kubeconfig_; }
  // Calls `use` on the server's thread and returns its result.
  template <class Use>
  auto With(Use use) {
    std::packaged_task<decltype(use(api_))()> task([&] { return use(api_); });
    auto result = task.get_future();
    asio::post(io_, [&task] { task(); });
    return result.get();
  }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  FakeApiServer api_;
  std::unique_ptr<ScriptedServer> server_;
  std::string kubeconfig_;
  std::thread thread_;
};

}  // namespace kube

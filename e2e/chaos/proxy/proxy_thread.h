// SPDX-License-Identifier: Apache-2.0
// ProxyThread: an event loop on a thread of its own, so that proxies go on forwarding while the
// main thread starts programs and waits for them.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace e2e {

class ProxyThread {
 public:
  ProxyThread() : thread_([this] { io_.run(); }) {}
  // Objects that use the loop must be gone. Ends operations that are pending.
  ~ProxyThread() {
    io_.stop();
    thread_.join();
  }
  ProxyThread(const ProxyThread&) = delete;
  ProxyThread& operator=(const ProxyThread&) = delete;

  boost::asio::io_context& io() { return io_; }

  // Calls `work` on the thread and returns its result. Thread: any other one.
  template <class Work>
  auto Run(Work work) {
    // Shared: the task still returns when the result is there.
    auto task = std::make_shared<std::packaged_task<decltype(work())()>>(std::move(work));
    auto result = task->get_future();
    boost::asio::post(io_, [task] { (*task)(); });
    return result.get();
  }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;
};

}  // namespace e2e

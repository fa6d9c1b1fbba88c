// SPDX-License-Identifier: Apache-2.0
// PullThread: runs a reader that pulls its bytes, while the bytes are pushed.
//
//   PullThread reader([](PullThread& input) { while (... input.Take() ...) });
//   reader.Give("first");   // returns when the reader asks for more, or has ended
//   reader.Give("");        // the end
//
// libarchive can only pull, and the bytes come from coroutines. The reader has a thread of its own
// and runs only inside of Give(), so the two share data without locks. Linux only (pthreads).
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>

namespace exec_format {

class PullThread {
 public:
  using Reader = std::function<void(PullThread&)>;

  explicit PullThread(Reader reader) : reader_(std::move(reader)) {}
  // A reader that has not ended gets the end of the bytes.
  ~PullThread();
  PullThread(const PullThread&) = delete;
  PullThread& operator=(const PullThread&) = delete;

  // `bytes` are valid until the reader's next Take(); "" is their end. Ignored once the reader has
  // ended. False: the system has no thread for it.
  [[nodiscard]] bool Give(std::string_view bytes);
  bool ended() const { return turn_ == Turn::kEnded; }

  // For the reader. The next bytes; "" at the end, and from then on.
  std::string_view Take();

 private:
  enum class Turn { kCaller, kReader, kEnded };
  static void* Main(void* self);

  Reader reader_;
  pthread_t thread_{};
  bool started_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Written under the mutex; between two changes, only the side that has the turn reads the rest.
  Turn turn_ = Turn::kCaller;
  std::string_view bytes_;
  bool has_bytes_ = false;
  bool closed_ = false;
};

}  // namespace exec_format

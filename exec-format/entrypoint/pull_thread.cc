// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/pull_thread.h"

namespace exec_format {
namespace {

// Address space, not memory: libarchive 3.6 calls itself for each extended header.
constexpr size_t kStackBytes = 4u << 20;

}  // namespace

PullThread::~PullThread() {
  if (!started_) return;
  // Without a thread, Give() would have failed before.
  if (!ended()) static_cast<void>(Give({}));
  pthread_join(thread_, nullptr);
}

void* PullThread::Main(void* self) {
  auto* thread = static_cast<PullThread*>(self);
  thread->reader_(*thread);
  std::lock_guard lock(thread->mutex_);
  thread->turn_ = Turn::kEnded;
  thread->changed_.notify_all();
  return nullptr;
}

bool PullThread::Give(std::string_view bytes) {
  if (ended() || closed_) return true;
  bytes_ = bytes;
  has_bytes_ = true;
  closed_ = bytes.empty();
  std::unique_lock lock(mutex_);
  turn_ = Turn::kReader;
  if (!started_) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    const bool made = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                      pthread_create(&thread_, &attributes, Main, this) == 0;
    pthread_attr_destroy(&attributes);
    if (!made) {
      turn_ = Turn::kEnded;
      return false;
    }
    started_ = true;
  }
  changed_.notify_all();
  changed_.wait(lock, [this] { return turn_ != Turn::kReader; });
  return true;
}

std::string_view PullThread::Take() {
  if (!has_bytes_) {
    if (closed_) return {};
    std::unique_lock lock(mutex_);
    turn_ = Turn::kCaller;
    changed_.notify_all();
    changed_.wait(lock, [this] { return turn_ == Turn::kReader; });
  }
  has_bytes_ = false;
  return bytes_;
}

}  // namespace exec_format

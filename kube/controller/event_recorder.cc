// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_recorder.h"

#include <glog/logging.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "kube/codec/codec.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kEvents = ResourceOf<core::Event>::value;
constexpr const char* kNormal = "Normal";
constexpr const char* kWarning = "Warning";
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxReason = 128;
// A name has 253 bytes at most, of which ".0123456789abcdef" is ours.
constexpr size_t kMaxObjectName = 253 - 17;
constexpr Duration kSendTimeout = 10s;

// Length of the UTF-8 sequence at the start of `text`, 0 if there is no valid one.
size_t SequenceLength(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// Messages quote registries and pods: whatever bytes those send, the API server gets bounded UTF-8.
std::string Clean(std::string_view text, size_t max) {
  auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (text.size() <= max && std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    std::string_view piece = length == 0 ? "?" : text.substr(0, length);
    if (out.size() + piece.size() > max) break;
    out += piece;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace

EventRecorder::EventRecorder(Client& client, Clock& clock, EventRecorderOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {}

void EventRecorder::Record(const core::ObjectReference& about, bool warning, std::string_view reason,
                           std::string message) {
  message = Clean(message, kMaxMessage);
  std::string clean_reason = Clean(reason, kMaxReason);
  std::string signature;
  for (const std::string& part : {about.uid(), about.kind(), about.namespace_(), about.name(), clean_reason, message}) {
    signature += part;
    signature += '\0';
  }
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch()).count();

  if (auto waiting = by_signature_.find(signature); waiting != by_signature_.end()) {
    core::Event& event = waiting->second->event;
    event.set_count(event.count() + 1);
    event.mutable_last_timestamp()->set_seconds(seconds);
    return;
  }
  if (queue_.size() >= options_.capacity) {
    ++dropped_;
    if (!warning || !DropNewestNormal()) return;
  }
  core::Event event;
  // Events about cluster-scoped objects live in "default".
  event.mutable_metadata()->set_namespace_(about.namespace_().empty() ? "default" : about.namespace_());
  event.mutable_metadata()->set_name(NewName(about.name()));
  *event.mutable_involved_object() = about;
  event.set_reason(std::move(clean_reason));
  event.set_message(std::move(message));
  event.mutable_source()->set_component(options_.component);
  event.set_reporting_component(options_.component);
  event.mutable_first_timestamp()->set_seconds(seconds);
  event.mutable_last_timestamp()->set_seconds(seconds);
  event.set_count(1);
  event.set_type(warning ? kWarning : kNormal);
  urgent_ = clock_.Now();
  auto position = queue_.insert(queue_.end(), Waiting{std::move(signature), std::move(event), urgent_});
  by_signature_.emplace(position->signature, position);
  added_.NotifyOne();
}

bool EventRecorder::DropNewestNormal() {
  auto is_normal = [](const Waiting& waiting) { return waiting.event.type() == kNormal; };
  auto newest = std::find_if(queue_.rbegin(), queue_.rend(), is_normal);
  if (newest == queue_.rend()) return false;
  by_signature_.erase(newest->signature);
  queue_.erase(std::prev(newest.base()));
  return true;
}

std::string EventRecorder::NewName(const std::string& object_name) {
  // As client-go: the time in nanoseconds, here made unique within the process as well.
  auto nanos = static_cast<uint64_t>(std::chrono::nanoseconds(clock_.WallNow().time_since_epoch()).count());
  last_suffix_ = std::max(nanos, last_suffix_ + 1);
  char suffix[18];
  std::snprintf(suffix, sizeof suffix, ".%" PRIx64, last_suffix_);
  std::string name = object_name.substr(0, kMaxObjectName);
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + suffix;
}

asio::awaitable<void> EventRecorder::Run() {
  co_await IgnoreCancellation();
  while (true) {
    bool cancelled = co_await IsCancelled();
    if (cancelled) break;
    if (queue_.empty()) {
      Result<> waited = co_await added_.Wait();
      (void)waited;
    } else if (Duration pause = Pause(); pause > Duration::zero()) {
      Result<> slept = co_await clock_.Sleep(pause);
      (void)slept;
    } else {
      Result<> sent = co_await SendFirst(kSendTimeout);
      (void)sent;
    }
  }

  // Flush. A second request to stop ends it.
  co_await ForgetCancellation();
  TimePoint deadline = clock_.Now() + options_.flush;
  while (!queue_.empty() && clock_.Now() < deadline) {
    Result<> sent = co_await SendFirst(deadline - clock_.Now());
    // One that cannot be reached now will not be within the next moment either.
    bool hopeless = !sent && sent.error().code() != Code::kInvalid && sent.error().code() != Code::kNotFound &&
                    sent.error().code() != Code::kPermissionDenied;
    if (hopeless) break;
  }
  LOG_IF(INFO, !queue_.empty()) << queue_.size() << " events were not sent before the end";
  dropped_ += queue_.size();
  by_signature_.clear();
  queue_.clear();
}

Duration EventRecorder::Pause() {
  if (!options_.busy) return Duration::zero();
  TimePoint now = clock_.Now();
  bool busy = options_.busy();
  if (busy) urgent_ = now;
  if (!busy && now - urgent_ >= options_.settle) return Duration::zero();
  if (now - queue_.front().since < options_.max_wait) return options_.poll;
  if (now < next_turn_) return next_turn_ - now;
  next_turn_ = now + options_.pace;
  return Duration::zero();
}

Async<> EventRecorder::SendFirst(Duration timeout) {
  by_signature_.erase(queue_.front().signature);
  Waiting first = std::move(queue_.front());
  queue_.pop_front();
  ApiRequest request{.method = Method::kPost,
                     .target = kEvents.Path(first.event.metadata().namespace_()),
                     .content_type = std::string(kProtobuf),
                     .accept = std::string(kProtobuf),
                     .body = Encode(first.event),
                     .timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout)};
  Result<ApiResponse> response = co_await client_.Call(std::move(request));
  if (response) co_return Ok();
  if (response.error().code() == Code::kCancelled) {
    // For the flush. Should it have arrived after all, its name keeps it from counting twice.
    queue_.push_front(std::move(first));
    by_signature_.emplace(queue_.front().signature, queue_.begin());
    co_return response.error();
  }
  ++dropped_;
  VLOG(1) << "event " << first.event.reason() << " about " << first.event.involved_object().name()
          << " is lost: " << response.error();
  co_return response.error();
}

}  // namespace kube

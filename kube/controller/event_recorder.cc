// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_recorder.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>

#include "kube/base/alarm.h"
#include "kube/codec/codec.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kEvents = ResourceOf<core::Event>::value;
constexpr const char* kNormal = "Normal";
constexpr const char* kWarning = "Warning";
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxReason = 128;
// A name has at most 253 bytes, including the suffix ".0123456789abcdef".
constexpr size_t kMaxObjectName = 253 - 17;
// The last digits of a name that are not of the time: 65 microseconds.
constexpr uint64_t kNameHashes = 1 << 16;
constexpr Duration kSendTimeout = 10s;
// A sender ends after this number of events: the others, and pauses, have their turn.
constexpr size_t kEventsPerTurn = 16;
// While fewer events wait, one connection is enough.
constexpr size_t kEventsPerSender = 8;
// Upper bound of a Retry-After.
constexpr Duration kMaxRetryAfter = 60s;

// Length of the UTF-8 sequence at the start of `text`; 0 if it is invalid.
size_t SequenceLength(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : lead >= 0xe0 && lead < 0xf0 ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// Messages may quote untrusted bytes: sends bounded, valid UTF-8 to the API server.
std::string Clean(std::string_view text, size_t max) {
  auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (text.size() <= max && std::all_of(text.begin(), text.end(), is_ascii))
    return std::string(text);
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

// The fields in which equal events agree. Equal events are merged and counted.
std::array<std::string_view, 6> SignatureOf(const core::Event& event) {
  const core::ObjectReference& about = event.involved_object();
  return {about.uid(),  about.kind(),   about.namespace_(),
          about.name(), event.reason(), event.message()};
}

size_t HashOf(const core::Event& event) {
  size_t hash = 0;
  for (std::string_view part : SignatureOf(event))
    hash = hash * 31 + std::hash<std::string_view>()(part);
  return hash;
}

// The body of a repeated event.
std::string WithCount(const std::string& body, int32_t count, int64_t last_seconds) {
  Result<core::Event> event = Decode<core::Event>(body);
  if (!event) return body;
  event->set_count(count);
  event->mutable_last_timestamp()->set_seconds(last_seconds);
  return Encode(*event);
}

// Errors after which the API server may accept the same event later.
bool IsTransient(const Error& error) {
  return error.code() == Code::kThrottled || error.code() == Code::kUnavailable ||
         error.code() == Code::kDeadlineExceeded || error.code() == Code::kUnauthenticated;
}

}  // namespace

EventRecorder::EventRecorder(Client& client, Clock& clock, EventRecorderOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {}

void EventRecorder::Record(const core::ObjectReference& about, bool warning,
                           std::string_view reason, std::string message) {
  if (options_.wanted && !options_.wanted(about, warning, reason)) return;
  auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch()).count();
  core::Event& event = scratch_;
  event.Clear();
  *event.mutable_involved_object() = about;
  event.set_reason(Clean(reason, kMaxReason));
  event.set_message(Clean(message, kMaxMessage));
  size_t signature = HashOf(event);
  if (CountRepeat(signature, event, seconds)) return;

  if (size() >= options_.capacity) {
    Drop(1);
    if (!warning || normals_.empty()) return;
    Take(normals_, std::prev(normals_.end()));
  }
  // Events about cluster-scoped objects are in the namespace "default".
  std::string ns = about.namespace_().empty() ? "default" : about.namespace_();
  event.mutable_metadata()->set_namespace_(ns);
  event.mutable_metadata()->set_name(NewName(about.name()));
  event.mutable_source()->set_component(options_.component);
  event.set_reporting_component(options_.component);
  event.mutable_first_timestamp()->set_seconds(seconds);
  event.mutable_last_timestamp()->set_seconds(seconds);
  event.set_count(1);
  event.set_type(warning ? kWarning : kNormal);
  last_urgent_ = clock_.Now();
  Queue& queue = warning ? warnings_ : normals_;
  Insert(queue, queue.end(),
         {.signature = signature,
          .ns = std::move(ns),
          .body = Encode(event),
          .since = last_urgent_,
          .last_seconds = seconds});
  NotifyObserver();
  changed_.NotifyAll();
}

bool EventRecorder::CountRepeat(size_t signature, const core::Event& event, int64_t seconds) {
  auto found = by_signature_.find(signature);
  if (found == by_signature_.end()) return false;
  Waiting& waiting = *found->second.second;
  // Pod names are untrusted and could be chosen to make hashes collide.
  Result<core::Event> other = Decode<core::Event>(waiting.body);
  if (!other || SignatureOf(*other) != SignatureOf(event)) return false;
  ++waiting.count;
  waiting.last_seconds = seconds;
  return true;
}

EventRecorder::Queue::iterator EventRecorder::Insert(Queue& queue, Queue::iterator position,
                                                     Waiting waiting) {
  auto inserted = queue.insert(position, std::move(waiting));
  by_signature_.try_emplace(inserted->signature, &queue, inserted);
  return inserted;
}

EventRecorder::Waiting EventRecorder::Take(Queue& queue, Queue::iterator position) {
  auto indexed = by_signature_.find(position->signature);
  if (indexed != by_signature_.end() && indexed->second.second == position)
    by_signature_.erase(indexed);
  Waiting waiting = std::move(*position);
  queue.erase(position);
  return waiting;
}

bool EventRecorder::OldestIsWarning() const {
  if (normals_.empty() || warnings_.empty()) return normals_.empty();
  return warnings_.front().since <= normals_.front().since;
}

void EventRecorder::Drop(size_t events) {
  if (options_.observer != nullptr && events > 0) options_.observer->OnDropped(events);
}

void EventRecorder::NotifyObserver() {
  if (options_.observer != nullptr) options_.observer->OnWaiting(size() + in_flight_);
}

std::string EventRecorder::NewName(const std::string& object_name) {
  // client-go's format, the time in nanoseconds; in addition unique within the process. Another
  // process may record an event of the same object at the same time: the last digits depend on what
  // the event says, or the API server would take it for a repetition of this one.
  auto nanos =
      static_cast<uint64_t>(std::chrono::nanoseconds(clock_.WallNow().time_since_epoch()).count());
  nanos = nanos - nanos % kNameHashes + HashOf(scratch_) % kNameHashes;
  last_suffix_ = std::max(nanos, last_suffix_ + 1);
  char suffix[18];
  std::snprintf(suffix, sizeof suffix, ".%" PRIx64, last_suffix_);
  std::string name = object_name.substr(0, kMaxObjectName);
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + suffix;
}

asio::awaitable<void> EventRecorder::Run() {
  co_await IgnoreCancellation();
  Executor executor = co_await asio::this_coro::executor;
  TaskGroup senders(executor);
  while (true) {
    bool cancelled = co_await IsCancelled();
    if (cancelled) break;
    if (size() == 0 || senders_ >= MaxSenders()) {
      Result<> waited = co_await changed_.Wait();
      IgnoreError(waited, "the loop asks whether it is cancelled");
    } else if (Duration delay = DelayOfOldest(); delay > Duration::zero()) {
      Result<> slept = co_await clock_.Sleep(delay);
      IgnoreError(slept, "the loop asks whether it is cancelled");
    } else {
      StartSender(senders);
    }
  }

  // Flush. Sends one event first: if it fails, the server is unavailable and the flush ends. A
  // second request to stop ends it too.
  co_await ForgetCancellation();
  bool late = false;
  Alarm deadline(clock_, [this, &late] {
    late = true;
    changed_.NotifyAll();
  });
  deadline.Set(executor, clock_.Now() + options_.flush);
  flushing_ = true;
  uint64_t sent_before = sent_;
  backoff_ = Duration::zero();
  backoff_until_ = clock_.Now();
  while (size() + senders_ > 0 && !late && backoff_ == Duration::zero()) {
    size_t at_once = sent_ > sent_before ? options_.senders : 1;
    if (size() > 0 && senders_ < at_once) {
      StartSender(senders);
      continue;
    }
    Result<> waited = co_await changed_.Wait();
    if (!waited) break;
  }
  flushing_ = false;
  Result<> stopped = kube::Error::DeadlineExceeded("");
  while (!stopped) stopped = co_await senders.Stop(clock_, kSendTimeout);
  LOG_IF(INFO, size() > 0) << size() << " events were not sent before the stop";
  Drop(size());
  by_signature_.clear();
  normals_.clear();
  warnings_.clear();
  NotifyObserver();
}

bool EventRecorder::IsQuiet() {
  if (!options_.busy) return true;
  TimePoint now = clock_.Now();
  bool busy = options_.busy();
  if (busy) last_urgent_ = now;
  return !busy && now - last_urgent_ >= options_.settle;
}

size_t EventRecorder::MaxSenders() {
  // After an error, one event at a time until the server accepts it.
  if (backoff_ != Duration::zero() || size() == 0) return 1;
  if (IsQuiet()) return std::min(options_.senders, 1 + size() / kEventsPerSender);
  return clock_.Now() - Oldest().front().since < 3 * options_.max_wait ? 1 : 2;
}

Duration EventRecorder::DelayOfOldest() {
  TimePoint now = clock_.Now();
  if (now < backoff_until_) return backoff_until_ - now;
  if (IsQuiet()) return Duration::zero();
  Duration waited = now - Oldest().front().since;
  // If there is urgent work now, it may end at any time; otherwise its last moment is known.
  if (waited < options_.max_wait) {
    Duration settled = last_urgent_ + options_.settle - now;
    return std::min(std::max(settled, options_.poll), options_.max_wait - waited);
  }
  if (waited >= 2 * options_.max_wait) return Duration::zero();
  return std::max(next_turn_ - now, Duration::zero());
}

void EventRecorder::StartSender(TaskGroup& tasks) {
  ++senders_;
  tasks.Spawn("events", SendSome());
}

asio::awaitable<void> EventRecorder::SendSome() {
  co_await IgnoreCancellation();
  TimePoint begun = clock_.Now();
  for (size_t sent = 0; sent < kEventsPerTurn && size() > 0; ++sent) {
    bool due = flushing_ || sent == 0 || DelayOfOldest() == Duration::zero();
    if (!due || senders_ > (flushing_ ? options_.senders : MaxSenders())) break;
    Result<> accepted = co_await SendOldest();
    if (!accepted) break;
  }
  --senders_;
  // During urgent work, events use one connection for at most half of the time.
  TimePoint now = clock_.Now();
  next_turn_ = now + (now - begun);
  changed_.NotifyAll();
}

Async<> EventRecorder::SendOldest() {
  bool warning = OldestIsWarning();
  Waiting waiting = Take(Oldest(), Oldest().begin());
  ++in_flight_;
  ApiRequest request{.method = Method::kPost,
                     .target = kEvents.Path(waiting.ns),
                     .content_type = std::string(kProtobuf),
                     .accept = std::string(kProtobuf),
                     .body = waiting.body,
                     .timeout = std::chrono::ceil<std::chrono::milliseconds>(kSendTimeout)};
  if (waiting.count > 1)
    request.body = WithCount(waiting.body, waiting.count, waiting.last_seconds);
  Result<ApiResponse> response = co_await client_.Call(std::move(request));
  HandleResponse(std::move(waiting), warning, response);
  if (!response) co_return response.error();
  co_return Ok();
}

void EventRecorder::HandleResponse(Waiting waiting, bool warning,
                                   const Result<ApiResponse>& response) {
  TimePoint now = clock_.Now();
  --in_flight_;
  // AlreadyExists: an earlier attempt succeeded although its response was lost.
  if (response || response.error().code() == Code::kAlreadyExists) {
    ++sent_;
    backoff_ = Duration::zero();
    NotifyObserver();
    return;
  }
  const Error& error = response.error();
  if (IsTransient(error) && now >= backoff_until_) {
    backoff_ = std::clamp(backoff_ * 2, options_.backoff, options_.max_backoff);
    Duration asked = error.retry_after().value_or(0s);
    backoff_until_ = now + std::max(backoff_, std::min(asked, kMaxRetryAfter));
  }
  if (IsTransient(error) && now - waiting.since < options_.max_age && size() < options_.capacity) {
    Queue& queue = warning ? warnings_ : normals_;
    Insert(queue, queue.begin(), std::move(waiting));
  } else {
    VLOG(1) << "event dropped: " << error;
    Drop(1);
  }
  NotifyObserver();
}

}  // namespace kube

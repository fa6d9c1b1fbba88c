// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/reflector.h"

#include <glog/logging.h>

#include <algorithm>

#include "kube/base/random.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"

namespace kube {
namespace {

constexpr char kInitialEventsEnd[] = "k8s.io/initial-events-end";
// The server ends each watch after a random time in this range, to spread watches over its
// replicas.
constexpr int kMinWatchSeconds = 300;
constexpr int kMaxWatchSeconds = 600;
constexpr std::chrono::seconds kListTimeout{60};
constexpr std::chrono::seconds kShortWatch{1};

// True if a watch cannot resume at the last resourceVersion.
bool NeedsRelist(const Error& error) {
  switch (error.code()) {
    case Code::kUnavailable:
      // The server's storage was restored to an earlier state.
      return error.HasCause("ResourceVersionTooLarge");
    case Code::kDeadlineExceeded:
    case Code::kThrottled:
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
    case Code::kCancelled:
      return false;
    default:
      return true;
  }
}

// True if the API server refused the parameters of a streaming list: one without the feature, or
// one that does not know resourceVersionMatch for watches.
bool RefusesStreamingLists(const Error& error) {
  return error.code() == Code::kInvalid &&
         std::any_of(error.causes().begin(), error.causes().end(), [](const Cause& cause) {
           return cause.field == "sendInitialEvents" || cause.field == "resourceVersionMatch";
         });
}

}  // namespace

struct Reflector::Frame {
  std::string type;
  ObjectKey key;
  std::string version;
  bool initial_events_end = false;
  WireObject object;

  // Reads key and version of a protobuf object, without decoding the rest of it.
  Result<void> ReadMetadata(std::string_view bytes);
};

Result<void> Reflector::Frame::ReadMetadata(std::string_view bytes) {
  using meta::ObjectMeta;
  std::string_view metadata;
  FieldReader of_object(bytes);
  while (of_object.Next()) {
    if (of_object.number() == meta::PartialObject::kMetadataFieldNumber)
      metadata = of_object.bytes();
  }
  FieldReader fields(metadata);
  while (fields.Next()) {
    switch (fields.number()) {
      case ObjectMeta::kNamespaceFieldNumber:
        key.ns = fields.bytes();
        break;
      case ObjectMeta::kNameFieldNumber:
        key.name = fields.bytes();
        break;
      case ObjectMeta::kResourceVersionFieldNumber:
        version = fields.bytes();
        break;
      case ObjectMeta::kAnnotationsFieldNumber: {
        FieldReader entry(fields.bytes());
        bool named = entry.Next() && entry.number() == 1;
        initial_events_end |= named && entry.bytes() == kInitialEventsEnd;
        break;
      }
      default:
        break;
    }
  }
  if (of_object.broken() || fields.broken()) return Error::Invalid("malformed object");
  return Ok();
}

Reflector::Reflector(Client& client, Clock& clock, ReflectorOptions options, Kind& kind)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      kind_(kind),
      backoff_(options_.backoff),
      random_(RandomSeed()) {}

asio::awaitable<void> Reflector::Run() {
  co_await IgnoreCancellation();
  while (true) {
    bool cancelled = co_await IsCancelled();
    if (cancelled) co_return;
    received_ = false;
    TimePoint begin = clock_.Now();
    Result<> ended = co_await ListAndWatch();
    if (received_) {
      backoff_.Reset();
      expired_ = false;
    }
    if (ended && (received_ || clock_.Now() - begin > kShortWatch)) continue;
    cancelled = co_await IsCancelled();
    if (cancelled) co_return;
    // A watch that ends without an event counts as a failure, to avoid a busy loop.
    Error error = ended ? Error::Unavailable("the watch ended without an event") : ended.error();
    Duration delay = AfterFailure(error);
    Result<> slept = co_await clock_.Sleep(delay);
    IgnoreError(slept, "the loop asks whether it is cancelled");
  }
}

Duration Reflector::AfterFailure(const Error& error) {
  if (std::exchange(refused_, false)) {
    LOG(INFO) << options_.resource.plural
              << ": the server has no streaming lists, using paged lists: " << error;
    streaming_lists_ = false;
    resource_version_.clear();
    return Duration::zero();
  }
  if (NeedsRelist(error)) resource_version_.clear();
  // Relist at once, but with backoff if the new list has expired too.
  bool expired_before = std::exchange(expired_, error.code() == Code::kExpired);
  if (expired_ && !expired_before) {
    VLOG(1) << options_.resource.plural << ": relist: " << error;
    return Duration::zero();
  }
  if (!failing_since_) failing_since_ = clock_.Now();
  Duration delay = backoff_.Next();
  if (error.retry_after()) delay = std::max<Duration>(delay, *error.retry_after());
  // One warning when errors begin, not one per attempt.
  auto seconds = std::chrono::duration<double>(delay).count();
  if (backoff_.failures() <= 2) {
    LOG(WARNING) << options_.resource.plural << ": retry in " << seconds << " s: " << error;
  } else {
    VLOG(1) << options_.resource.plural << ": retry in " << seconds << " s: " << error;
  }
  return delay;
}

Async<> Reflector::ListAndWatch() {
  bool list = resource_version_.empty();
  if (list && !streaming_lists_) {
    Result<> listed = co_await ReadPages();
    if (!listed) co_return listed.error();
    list = false;
  }
  Result<> watched = co_await Watch(/*streaming_list=*/list);
  watching_ = false;
  co_return watched;
}

ListOptions Reflector::Selection() const {
  return {.ns = options_.ns,
          .label_selector = options_.label_selector,
          .field_selector = options_.field_selector};
}

Async<> Reflector::ReadPages() {
  ++generation_;
  ListOptions options = Selection();
  options.limit = options_.page;
  options.page_timeout = kListTimeout;
  ListPages pages(client_, options_.resource, std::move(options), options_.protobuf);
  std::string version;
  while (pages.more()) {
    Result<RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (std::string& item : page->items) {
      Frame frame{.type = "ADDED"};
      if (options_.protobuf) {
        Result<void> read = frame.ReadMetadata(item);
        if (!read) co_return read.error();
        frame.object.bytes = item;
      } else {
        Result<Json> json = ParseJson(item);
        if (!json) co_return json.error();
        frame.key = {StringAt(*json, "metadata.namespace"), StringAt(*json, "metadata.name")};
        frame.version = StringAt(*json, "metadata.resourceVersion");
        frame.object.json = std::move(*json);
      }
      Put(frame.key, frame.version, std::move(frame.object));
    }
    version = page->resource_version;
  }
  resource_version_ = version;
  FinishList();
  co_return Ok();
}

Async<> Reflector::Watch(bool streaming_list) {
  std::string target = ListTarget(options_.resource, Selection());
  AddQuery(target, "watch", "true");
  AddQuery(target, "allowWatchBookmarks", "true");
  std::uniform_int_distribution<int> seconds(kMinWatchSeconds, kMaxWatchSeconds);
  AddQuery(target, "timeoutSeconds", std::to_string(seconds(random_)));
  if (streaming_list) {
    // Without a resourceVersion: the newest state, not that of a lagging server's cache.
    AddQuery(target, "sendInitialEvents", "true");
    AddQuery(target, "resourceVersionMatch", "NotOlderThan");
    ++generation_;
  } else {
    AddQuery(target, "resourceVersion", resource_version_);
  }
  listing_ = streaming_list;
  ApiRequest request{.target = std::move(target),
                     .accept = std::string(options_.protobuf ? kWatchAccept<core::Pod>
                                                             : kWatchAccept<Unstructured>)};
  Result<std::unique_ptr<WatchStream>> stream = co_await client_.Watch(std::move(request));
  if (!stream) {
    refused_ = streaming_list && RefusesStreamingLists(stream.error());
    co_return stream.error();
  }
  watching_ = true;
  if (!streaming_list) failing_since_.reset();
  while (true) {
    Result<std::optional<std::string>> text = co_await (*stream)->Next();
    if (!text) co_return text.error();
    if (!*text) break;
    Result<Frame> frame = ParseFrame(**text);
    if (!frame) co_return frame.error();
    received_ = true;
    failing_since_.reset();
    Result<void> handled = HandleFrame(std::move(*frame));
    if (!handled) co_return handled.error();
  }
  if (listing_) co_return Error::Unavailable("the watch ended before its initial events did");
  co_return Ok();
}

Result<Reflector::Frame> Reflector::ParseFrame(const std::string& text) const {
  Frame frame;
  if (options_.protobuf) {
    Result<RawWatchEvent> raw = DecodeProtobufFrame(text);
    if (!raw) return raw.error();
    Result<void> read = frame.ReadMetadata(raw->object);
    if (!read) return read.error();
    frame.type = std::move(raw->type);
    frame.object.bytes = raw->object;
    return frame;
  }
  Result<Json> json = ParseJson(text);
  if (!json) return json.error();
  auto object = json->is_object() ? json->find("object") : json->end();
  if (object == json->end()) return Error::Invalid("watch event without object");
  frame.type = StringAt(*json, "type");
  if (frame.type == "ERROR")
    return DecodeStatus(static_cast<int>(IntAt(*object, "code", 500)), kJson, DumpJson(*object));
  frame.key = {StringAt(*object, "metadata.namespace"), StringAt(*object, "metadata.name")};
  frame.version = StringAt(*object, "metadata.resourceVersion");
  const Json* annotations = kube::Find(*object, "metadata.annotations");
  frame.initial_events_end = annotations != nullptr && annotations->is_object() &&
                             annotations->contains(kInitialEventsEnd);
  frame.object.json = std::move(*object);
  return frame;
}

Result<void> Reflector::HandleFrame(Frame frame) {
  std::string version = std::move(frame.version);
  bool list_ended = false;
  if (frame.type == "ADDED" || frame.type == "MODIFIED") {
    Put(frame.key, version, std::move(frame.object));
  } else if (frame.type == "DELETED") {
    // An object that `pack` dropped before is not in the cache.
    if (entries_.contains(frame.key)) {
      Result<Packed> last = kind_.Pack(std::move(frame.object));
      Remove(frame.key, last ? &last->held : nullptr);
    }
  } else if (frame.type == "BOOKMARK") {
    list_ended = listing_ && frame.initial_events_end;
    // With a streaming list the first bookmark ends the initial events.
    refused_ = listing_ && !list_ended;
    if (refused_) return Error::Invalid("the server ignored sendInitialEvents");
  } else {
    return Error::Invalid("watch event of type \"" + frame.type.substr(0, 40) + "\"");
  }
  // The versions of initial events are not ordered: a watch must not resume at one of them.
  if (!listing_ || list_ended) resource_version_ = std::move(version);
  if (list_ended) FinishList();
  return Ok();
}

void Reflector::Put(const ObjectKey& key, std::string_view version, WireObject wire) {
  size_t hash = std::hash<std::string_view>()(version);
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.version_hash == hash) {
    found->second.generation = generation_;  // unchanged in the relist
    return;
  }
  if (found == entries_.end() && options_.max_objects != 0 &&
      entries_.size() >= options_.max_objects) {
    if (!std::exchange(full_, true)) {
      LOG(WARNING) << options_.resource.plural << ": more than " << options_.max_objects
                   << "; others are left out, the first is " << key.ToString();
    }
    return;
  }
  Result<Packed> packed = kind_.Pack(std::move(wire));
  if (!packed) {
    // A malformed object must not stop the watch. Its previous state stays cached until it is
    // deleted.
    LOG(WARNING) << options_.resource.plural << " " << key.ToString()
                 << " is left out: " << packed.error();
    if (found != entries_.end()) found->second.generation = generation_;
    return;
  }
  if (!packed->keep) {
    Remove(key, &packed->held);
    return;
  }
  EventType type = found == entries_.end() ? EventType::kAdded : EventType::kModified;
  if (found != entries_.end()) Discharge(key, found->second.held);
  Charge(key, packed->held);
  Entry& entry = found == entries_.end() ? entries_[key] : found->second;
  entry = {std::move(packed->held), hash, generation_};
  kind_.Emit(type, key, entry.held);
}

void Reflector::Remove(const ObjectKey& key, const Held* last) {
  auto found = entries_.extract(key);
  if (found.empty()) return;
  full_ = false;
  Discharge(key, found.mapped().held);
  kind_.Emit(EventType::kDeleted, key, last != nullptr ? *last : found.mapped().held);
}

void Reflector::Charge(const ObjectKey& key, Held& held) {
  const CacheBudget& budget = options_.budget;
  if (budget.total == 0) return;
  size_t size = held.bytes.size();
  size_t& of_namespace = namespace_bytes_[key.ns];
  bool fits = size <= budget.object && of_namespace + size <= budget.one_namespace &&
              bytes_ + size <= budget.total;
  if (fits) {
    of_namespace += size;
    bytes_ += size;
    return;
  }
  held.bytes = kind_.Stub(held.bytes);
  held.bytes.shrink_to_fit();
  held.stub = true;
  if (of_namespace == 0) namespace_bytes_.erase(key.ns);
}

void Reflector::Discharge(const ObjectKey& key, const Held& held) {
  if (options_.budget.total == 0 || held.stub) return;
  bytes_ -= held.bytes.size();
  auto of_namespace = namespace_bytes_.find(key.ns);
  if (of_namespace == namespace_bytes_.end()) return;
  of_namespace->second -= held.bytes.size();
  if (of_namespace->second == 0) namespace_bytes_.erase(of_namespace);
}

void Reflector::FinishList() {
  listing_ = false;
  std::vector<ObjectKey> gone;
  for (const auto& [key, entry] : entries_) {
    if (entry.generation != generation_) gone.push_back(key);
  }
  for (const ObjectKey& key : gone) Remove(key, nullptr);
  VLOG(1) << options_.resource.plural << ": " << entries_.size() << " objects at "
          << resource_version_;
  if (synced_) return;
  synced_ = true;
  synced_changed_.NotifyAll();
}

Async<> Reflector::WaitForSync() {
  while (!synced_) {
    Result<> waited = co_await synced_changed_.Wait();
    if (!waited) co_return waited.error();
  }
  co_return Ok();
}

const Reflector::Held* Reflector::Find(const ObjectKey& key) const {
  auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second.held;
}

void Reflector::ForEach(const std::function<void(const ObjectKey&, const Held&)>& visit) const {
  for (const auto& [key, entry] : entries_) visit(key, entry.held);
}

}  // namespace kube

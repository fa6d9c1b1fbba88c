// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps a copy of one collection of the API by list and watch. The implementation of
// Informer<T>, which is what other code uses; not a template, so it is compiled once.
//
// It starts with a streaming list (a watch that sends the existing objects first), or with a paged
// LIST if the server itself reports that it has no streaming lists; other errors do not cause that
// fallback. A watch that ends is resumed at the last resourceVersion. 410 causes a relist; cached
// objects that are missing from the new list are reported as deleted. It retries without limit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "kube/base/async.h"
#include "kube/base/backoff.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

enum class EventType { kAdded, kModified, kDeleted };

// Limits of a cache in bytes of serialized objects; 0: unlimited. An object beyond a limit is held
// as a stub, so large objects of one tenant neither take unbounded memory nor displace those of
// others.
struct CacheBudget {
  size_t object = 0;         // one object
  size_t one_namespace = 0;  // all objects of a namespace
  size_t total = 0;
};

struct ReflectorOptions {
  Resource resource;
  bool protobuf = false;
  std::string ns;              // empty: all namespaces, or cluster-scoped
  std::string label_selector;  // "a=b,c in (d,e)"
  std::string field_selector;  // "spec.nodeName=,status.phase=Pending"
  CacheBudget budget;
  // Beyond, further objects are left out, with one warning, until they change or are listed again
  // when there is room; 0: unlimited. For a server that is not trusted.
  size_t max_objects = 0;
  // Maximum objects per page of the fallback LIST.
  int page = 500;
  // Between attempts while the API server is unavailable or refuses.
  BackoffOptions backoff;
};

// A received object: a bare protobuf message (not owned), or JSON.
struct WireObject {
  std::string_view bytes;
  Json json;
};

class Reflector {
 public:
  // A cached object: serialized if it is a protobuf kind, otherwise decoded (a T).
  struct Held {
    std::string bytes;
    std::shared_ptr<const void> object;
    bool stub = false;
  };
  // A received object in cached form; `keep`: store it.
  struct Packed {
    bool keep = true;
    Held held;
  };
  // The operations that depend on the type.
  class Kind {
   public:
    virtual ~Kind() = default;
    // Errors: kInvalid for a malformed object; it is logged and skipped.
    virtual Result<Packed> Pack(WireObject wire) = 0;
    // The stub of an object that exceeds the budget; small for every object.
    virtual std::string Stub(std::string_view packed) = 0;
    virtual void Emit(EventType type, const ObjectKey& key, const Held& held) = 0;
  };

  // `client`, `clock` and `kind` outlive the reflector.
  Reflector(Client& client, Clock& clock, ReflectorOptions options, Kind& kind);

  // Lists and watches until cancelled.
  asio::awaitable<void> Run();

  bool synced() const { return synced_; }
  // True while a watch is open that delivers changes.
  bool current() const { return synced_ && watching_ && !listing_; }
  // Errors: kCancelled.
  Async<> WaitForSync();
  // How long there has been no watch because of errors of the API server; zero while there is one.
  Duration failing_for() const {
    return failing_since_ ? clock_.Now() - *failing_since_ : Duration::zero();
  }

  const Held* Find(const ObjectKey& key) const;
  void ForEach(const std::function<void(const ObjectKey&, const Held&)>& visit) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Held held;
    // Hash of the resourceVersion: detects changed objects in a relist.
    size_t version_hash;
    // The last list that had the object: objects missing from the newest list were deleted.
    uint32_t generation;
  };
  struct Frame;

  Async<> ListAndWatch();
  Async<> ReadPages();
  Async<> Watch(bool streaming_list);
  ListOptions Selection() const;
  Result<Frame> ParseFrame(const std::string& text) const;
  Result<void> HandleFrame(Frame frame);
  void Put(const ObjectKey& key, std::string_view version, WireObject wire);
  // Counts `held` against the budget, after replacing it with a stub if it does not fit.
  void Charge(const ObjectKey& key, Held& held);
  void Discharge(const ObjectKey& key, const Held& held);
  // `last`: the state to report, or nullptr for the cached state.
  void Remove(const ObjectKey& key, const Held* last);
  void FinishList();
  Duration AfterFailure(const Error& error);

  Client& client_;
  Clock& clock_;
  ReflectorOptions options_;
  Kind& kind_;
  Backoff backoff_;
  std::minstd_rand random_;

  std::unordered_map<ObjectKey, Entry> entries_;
  // Bytes of whole objects, if there is a budget.
  size_t bytes_ = 0;
  std::unordered_map<std::string, size_t> namespace_bytes_;
  std::string resource_version_;
  uint32_t generation_ = 0;
  bool synced_ = false;
  bool streaming_lists_ = true;
  // State of the current watch: it is open, its initial events have not ended, the server has no
  // streaming lists, a frame was received.
  bool watching_ = false;
  bool listing_ = false;
  bool refused_ = false;
  bool received_ = false;
  // Objects were left out.
  bool full_ = false;
  // The last failure was a 410.
  bool expired_ = false;
  std::optional<TimePoint> failing_since_;
  Notifier synced_changed_;
};

}  // namespace kube

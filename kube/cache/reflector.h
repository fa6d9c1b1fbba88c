// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps a copy of one collection of the API by list and watch. The machinery under
// Informer<T>, which is what other code uses; not a template, so that it is compiled once.
//
// It begins with a streaming list (a watch that sends what is there first), or with a paged LIST
// where the server says that it has none; trouble on the way to it says nothing of the kind. A
// watch that ends is resumed at the last resourceVersion; 410 means list again, and what is gone by
// then is told as deleted. It never gives up.
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

// Bytes of serialised objects that a cache may hold; 0: without limit. An object beyond them is
// held as a stub, so that one tenant's large objects cost memory neither without bound nor the
// others their place.
struct CacheBudget {
  size_t object = 0;         // one object
  size_t one_namespace = 0;  // all of a namespace
  size_t total = 0;
};

struct ReflectorOptions {
  Resource resource;
  bool protobuf = false;
  std::string ns;              // empty: all namespaces, or cluster-scoped
  std::string label_selector;  // "a=b,c in (d,e)"
  std::string field_selector;  // "spec.nodeName=,status.phase=Pending"
  CacheBudget budget;
  // Objects a page of the fallback, at most.
  int page = 500;
  // Between tries while the API server is away or refuses.
  BackoffOptions backoff;
};

// An object on its way into the cache: a bare message, which is somebody else's, or JSON.
struct WireObject {
  std::string_view bytes;
  Json json;
};

class Reflector {
 public:
  // An object as the cache holds it: serialised if it is a protobuf kind, else decoded (a T).
  struct Held {
    std::string bytes;
    std::shared_ptr<const void> object;
    bool stub = false;
  };
  // What came in, `keep` if it belongs into the cache.
  struct Packed {
    bool keep = true;
    Held held;
  };
  // The typed part.
  class Kind {
   public:
    virtual ~Kind() = default;
    // Errors: kInvalid for an object that is none of this kind; it is logged and left out.
    virtual Result<Packed> Pack(WireObject wire) = 0;
    // What to hold of an object that does not fit into the budget: small, whatever it is.
    virtual std::string Stub(std::string_view packed) = 0;
    virtual void Emit(EventType type, const ObjectKey& key, const Held& held) = 0;
  };

  // `client`, `clock` and `kind` outlive the reflector.
  Reflector(Client& client, Clock& clock, ReflectorOptions options, Kind& kind);

  // Lists and watches until cancelled.
  asio::awaitable<void> Run();

  bool synced() const { return synced_; }
  // True while a watch is open that brings what changes.
  bool current() const { return synced_ && watching_ && !listing_; }
  // Errors: kCancelled.
  Async<> WaitForSync();
  // How long there has been no watch because the API server refuses or fails; zero while there is
  // one.
  Duration failing_for() const {
    return failing_since_ ? clock_.Now() - *failing_since_ : Duration::zero();
  }

  const Held* Find(const ObjectKey& key) const;
  void ForEach(const std::function<void(const ObjectKey&, const Held&)>& visit) const;
  size_t size() const { return entries_.size(); }

  // Where the next watch would begin; "" before the first list.
  const std::string& resource_version() const { return resource_version_; }

 private:
  struct Entry {
    Held held;
    // Of the resourceVersion: a relist tells what has changed.
    size_t version_hash;
    // The list that saw the object last: what a complete list did not see is gone.
    uint32_t generation;
  };
  struct Frame;

  Async<> ListAndWatch();
  Async<> ReadPages();
  Async<> Watch(bool streaming_list);
  ListOptions Selection() const;
  Result<Frame> ParseFrame(const std::string& text) const;
  Result<void> Take(Frame frame);
  void Put(const ObjectKey& key, std::string_view version, WireObject wire);
  // Makes room for `held` and, where there is none, a stub of it.
  void Charge(const ObjectKey& key, Held& held);
  void Discharge(const ObjectKey& key, const Held& held);
  // `last`: the state to tell, or nullptr where no more is known than what was held.
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
  // Of whole objects, where there is a budget.
  size_t bytes_ = 0;
  std::unordered_map<std::string, size_t> namespace_bytes_;
  std::string resource_version_;
  uint32_t generation_ = 0;
  bool synced_ = false;
  bool streaming_lists_ = true;
  // Of the watch under way: it is open, its initial events have not ended, the server has no
  // streaming lists, a frame has come.
  bool watching_ = false;
  bool listing_ = false;
  bool refused_ = false;
  bool received_ = false;
  // The last failure was a 410.
  bool expired_ = false;
  std::optional<TimePoint> failing_since_;
  Notifier synced_changed_;
};

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// KindWatch: every change of the objects of one kind, in all namespaces, in order. It resumes after
// a lost connection, and says what it may have missed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class KindWatch {
 public:
  struct Observer {
    // `type`: ADDED, MODIFIED or DELETED of a watch, or LISTED: the object is in a list and was not
    // known in this version. An object that a later list lacks is DELETED at the version of the
    // list. `bytes`: the length of its text.
    std::function<void(const kube::Resource&, const std::string& type, kube::Json object,
                       size_t bytes)>
        on_change;
    // A list has shown changes that no watch has delivered; they happened after `since`.
    std::function<void(const kube::Resource&, kube::TimePoint since, const std::string& why)>
        on_gap;
  };

  // `client` and `clock` outlive it.
  KindWatch(kube::Client& client, kube::Clock& clock, kube::Resource resource, Observer observer);

  // Lists, then watches until cancelled.
  boost::asio::awaitable<void> Run();

  const kube::Resource& resource() const { return resource_; }
  // The API server has answered, even if it does not serve the kind.
  bool answered() const { return answered_; }
  // The versions of the first list and of the latest one. Of a kind that is not served: nullopt.
  std::optional<uint64_t> first_listed_at() const;
  std::optional<uint64_t> listed_at() const;
  uint64_t frames() const { return frames_; }
  // Watches that were opened.
  uint64_t watches() const { return watches_; }

 private:
  kube::Async<> List();
  kube::Async<> Watch();
  // The objects in `listed`, by key, are all that exist.
  void Compare(const std::map<kube::ObjectKey, const kube::Json*>& listed,
               const std::string& version);
  // Lists again, because of `why`.
  void Expire(std::string why);

  kube::Client& client_;
  kube::Clock& clock_;
  const kube::Resource resource_;
  Observer observer_;

  std::string version_;
  // The version of each object that exists, as text.
  std::map<kube::ObjectKey, std::string> known_;
  bool answered_ = false;
  bool listed_ = false;
  // There was a list, and so a later one shows what was missed.
  bool was_listed_ = false;
  uint64_t first_listed_at_ = 0, listed_at_ = 0;
  // When the latest frame came, or the latest list.
  kube::TimePoint seen_{};
  std::string why_expired_;
  // Errors of the watch at one version that a retry does not explain.
  int failures_ = 0;
  uint64_t frames_ = 0, watches_ = 0;
};

// metadata.resourceVersion as a number; 0 if it is none.
uint64_t VersionOf(const kube::Json& object);

}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
// FakeApiServer: an in-process API server with the semantics that controllers depend on:
// resourceVersions and conflicts, uids, finalizers, generateName, selectors, paging, watches with
// bookmarks and streaming lists, 410.
//
//   FakeApiServer api;
//   api.Create<core::Pod>(MakePod("web").Gate(kGate));   // immediate, as if by another client
//   api.FailNext(Error::Unavailable("503"), "PUT");      // fails the next PUT
//   Result<Outcome> outcome = Run(io, reconciler.Reconcile({{"ns", "web"}}));
//   EXPECT_FALSE(HasGate(*api.Get<core::Pod>({"ns", "web"}), kGate));
//
// Not implemented: admission, validation, defaulting, garbage collection, namespaces that must
// exist, RBAC, graceful deletion. Every resource exists. Objects stay in the encoding in which they
// were written; a request for the other encoding is kInvalid (406). Server-side apply and strategic
// merge patches are treated as merge patches; of a protobuf object only annotations can be patched.
// For JSON kinds, status is written by /status only, and writes to the object keep it; Create() and
// Update() of this class write both.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/testing/fake_object.h"
#include "kube/testing/fake_watch.h"

namespace kube {

class FakeApiServer final : public Client {
 public:
  // `clock` sets creation times.
  explicit FakeApiServer(Clock& clock = RealClock());
  ~FakeApiServer() override;

  // --- Calls of another client. A failure is a bug of the test and ends it. Not recorded, not
  // affected by FailNext().
  template <class T>
  T Create(const T& object);
  // Replaces the object, ignoring resourceVersion.
  template <class T>
  T Update(const T& object);
  template <class T>
  std::optional<T> Get(const ObjectKey& key);
  // As DELETE: an object with finalizers stays, with a deletionTimestamp.
  template <class T>
  void Delete(const ObjectKey& key);
  // All objects of `ns` (empty: all namespaces), in order of their keys.
  template <class T>
  std::vector<T> List(std::string_view ns = "");
  // The same for kinds without a C++ type.
  Json CreateJson(const Resource& resource, const Json& object);
  Json UpdateJson(const Resource& resource, const Json& object);
  // UpdateJson() of an object with a JSON merge patch.
  Json PatchJson(const Resource& resource, const ObjectKey& key, const Json& patch);
  std::optional<Json> GetJson(const Resource& resource, const ObjectKey& key);
  void DeleteJson(const Resource& resource, const ObjectKey& key);
  std::vector<Json> ListJson(const Resource& resource, std::string_view ns = "");

  // --- Failures.
  // The next `times` calls or watches whose "METHOD target" ("PUT /api/v1/...", "WATCH
  // /api/v1/pods?...") contains `containing` fail with `error`. Several may be pending; the oldest
  // match is used.
  void FailNext(Error error, std::string containing = "", int times = 1);
  // Until Start(), calls fail with kUnavailable. Open watches break.
  void Stop();
  void Start() { down_ = false; }
  // The server's watch timeout: open watches end normally.
  void CloseWatches();
  // Compaction: open watches, older resourceVersions and older continue tokens end with 410.
  void ExpireWatches();
  // An API server without streaming lists: sendInitialEvents is refused as 422.
  void RefuseStreamingLists() { streaming_lists_ = StreamingLists::kRefused; }
  // An API server that does not know the parameter: it starts an ordinary watch, without the
  // bookmark that ends the initial events.
  void IgnoreStreamingLists() { streaming_lists_ = StreamingLists::kIgnored; }
  // Sends a bookmark to every open watch that requested them.
  void SendBookmarks();
  // Calls `hook` with "METHOD target" before each call, to simulate races with other clients.
  void BeforeEach(std::function<void(const std::string& call)> hook) {
    before_each_ = std::move(hook);
  }

  // --- Recorded calls of the code under test.
  // Every call, including failed ones, with its query: "GET /api/v1/namespaces/ns/pods/web", "WATCH
  // ...".
  const std::vector<std::string>& calls() const { return calls_; }
  // The number of calls that contain `containing`.
  int CountCalls(std::string_view containing) const;
  // The number of calls that write.
  int CountWrites() const;
  // The body of the last call that contains `containing`; "" if there was none.
  std::string LastBody(std::string_view containing) const;
  int open_watches() const;
  uint64_t resource_version() const { return version_; }

  // Client
  Async<ApiResponse> Call(ApiRequest request) override;
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override;

 private:
  // Objects of one collection ("/api/v1/pods"), by namespace and name.
  using Collection = std::map<ObjectKey, FakeObject>;
  struct Failure {
    Error error;
    std::string containing;
    int times;
  };

  std::optional<Error> TakeFailure(const std::string& call);
  std::string Record(std::string_view verb, const ApiRequest& request);

  // `trusted`: a call of the test, which may write status and ignore resourceVersions.
  Result<ApiResponse> Handle(const ApiRequest& request, bool trusted);
  Result<ApiResponse> HandleGet(const FakeTarget& target, const ApiRequest& request);
  Result<ApiResponse> HandleList(const FakeTarget& target, const ApiRequest& request);
  Result<ApiResponse> HandlePost(const FakeTarget& target, const ApiRequest& request);
  Result<ApiResponse> HandlePut(const FakeTarget& target, const ApiRequest& request, bool trusted);
  Result<ApiResponse> HandlePatch(const FakeTarget& target, const ApiRequest& request);
  Result<ApiResponse> HandleDelete(const FakeTarget& target, const ApiRequest& request);

  Result<FakeObject> Insert(const FakeTarget& target, FakeObject object);
  Result<FakeObject> Replace(const FakeTarget& target, FakeObject object, bool trusted);
  void Commit(const std::string& collection, const ObjectKey& key, std::optional<FakeObject> before,
              std::optional<FakeObject> after);
  Result<std::unique_ptr<WatchStream>> OpenWatch(const ApiRequest& request);
  std::vector<std::shared_ptr<FakeWatch>> OpenWatches() const;
  ApiResponse Must(ApiRequest request);

  Clock& clock_;
  uint64_t version_ = 1;
  // Older versions are compacted.
  uint64_t oldest_ = 0;
  uint64_t next_uid_ = 1;
  bool down_ = false;
  enum class StreamingLists {
    kServed,
    kRefused,
    kIgnored
  } streaming_lists_ = StreamingLists::kServed;
  std::map<std::string, Collection> collections_;
  std::vector<FakeChange> history_;
  std::vector<std::weak_ptr<FakeWatch>> watches_;
  std::deque<Failure> failures_;
  std::function<void(const std::string&)> before_each_;
  std::vector<std::string> calls_;
  std::vector<std::string> bodies_;
};

template <class T>
T FakeApiServer::Create(const T& object) {
  ApiResponse response = Must({.method = Method::kPost,
                               .target = ResourceOf<T>::value.Path(object.metadata().namespace_()),
                               .content_type = std::string(kContentType<T>),
                               .accept = std::string(kContentType<T>),
                               .body = Encode(object)});
  return Decode<T>(response.body).value();
}

template <class T>
T FakeApiServer::Update(const T& object) {
  ApiResponse response = Must({.method = Method::kPut,
                               .target = ResourceOf<T>::value.Path(object.metadata().namespace_(),
                                                                   object.metadata().name()),
                               .content_type = std::string(kContentType<T>),
                               .accept = std::string(kContentType<T>),
                               .body = Encode(object)});
  return Decode<T>(response.body).value();
}

template <class T>
std::optional<T> FakeApiServer::Get(const ObjectKey& key) {
  ApiRequest request{.target = ResourceOf<T>::value.Path(key.ns, key.name),
                     .accept = std::string(kContentType<T>)};
  Result<ApiResponse> response = Handle(request, /*trusted=*/true);
  if (IsNotFound(response)) return std::nullopt;
  return Decode<T>(response.value().body).value();
}

template <class T>
void FakeApiServer::Delete(const ObjectKey& key) {
  DeleteJson(ResourceOf<T>::value, key);
}

template <class T>
std::vector<T> FakeApiServer::List(std::string_view ns) {
  ApiResponse response =
      Must({.target = ResourceOf<T>::value.Path(ns), .accept = std::string(kContentType<T>)});
  Result<RawList> list =
      ProtobufKind<T> ? DecodeProtobufList(response.body) : DecodeJsonList(response.body);
  std::vector<T> objects;
  for (const std::string& item : list.value().items) objects.push_back(DecodeBare<T>(item).value());
  return objects;
}

}  // namespace kube

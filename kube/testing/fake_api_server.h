// SPDX-License-Identifier: Apache-2.0
// FakeApiServer: a Client of an in-process API server (kube/testing/fake_store.h), whose calls are
// recorded and fail on demand.
//
//   FakeApiServer api;
//   api.Create<core::Pod>(MakePod("web").Gate(kGate));   // immediate, as if by another client
//   api.FailNext(Error::Unavailable("503"), "PUT");      // fails the next PUT
//   Result<Outcome> outcome = Run(io, reconciler.Reconcile({{"ns", "web"}}));
//   EXPECT_FALSE(HasGate(*api.Get<core::Pod>({"ns", "web"}), kGate));
//
// The calls of TrustedCalls are neither recorded nor affected by FailNext().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/testing/trusted_calls.h"

namespace kube {

class FakeStore;

class FakeApiServer final : public Client, public TrustedCalls {
 public:
  // `clock` sets creation times.
  explicit FakeApiServer(Clock& clock = RealClock());
  ~FakeApiServer() override;

  FakeStore& store() { return *store_; }

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
  void RefuseStreamingLists();
  // An API server that does not know the parameter: it starts an ordinary watch, without the
  // bookmark that ends the initial events.
  void IgnoreStreamingLists();
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
  uint64_t resource_version() const;

  // Client
  Async<ApiResponse> Call(ApiRequest request) override;
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override;

 private:
  struct Failure {
    Error error;
    std::string containing;
    int times;
  };

  explicit FakeApiServer(std::unique_ptr<FakeStore> store);
  // Records the call, and returns the failure that it meets.
  std::optional<Error> Arrive(std::string_view verb, const ApiRequest& request);
  std::optional<Error> TakeFailure(const std::string& call);

  std::unique_ptr<FakeStore> store_;
  bool down_ = false;
  std::deque<Failure> failures_;
  std::function<void(const std::string&)> before_each_;
  std::vector<std::string> calls_;
  std::vector<std::string> bodies_;
};

}  // namespace kube

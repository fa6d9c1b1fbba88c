// SPDX-License-Identifier: Apache-2.0
#include "examples/namespace_labeler/namespace_labeler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/controller/controller.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reader.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace examples {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::core::Namespace;
using ::testing::Contains;
using ::testing::Pair;

Namespace MakeNamespace(const std::string& name) {
  Namespace ns;
  ns.mutable_metadata()->set_name(name);
  return ns;
}

class NamespaceLabelerTest : public ::testing::Test {
 protected:
  // Reconciles `ns` as the cache has it now.
  kube::Result<kube::Outcome> Reconcile(const Namespace& ns) {
    cache_.Put(ns);
    return kube::Run(io_, labeler_.Reconcile({kube::KeyOf(ns)}));
  }
  auto Labels(const std::string& name) {
    return api_.Get<Namespace>({"", name})->metadata().labels();
  }

  boost::asio::io_context io_;
  kube::FakeApiServer api_;
  kube::FakeReader<Namespace> cache_;
  NamespaceLabeler labeler_{api_, cache_, {"team", "unknown"}};
};

TEST_F(NamespaceLabelerTest, AddsTheMissingLabel) {
  ASSERT_THAT(Reconcile(api_.Create(MakeNamespace("shop"))), kube::IsOk());
  EXPECT_THAT(Labels("shop"), Contains(Pair("team", "unknown")));
}

TEST_F(NamespaceLabelerTest, KeepsAnExistingValue) {
  Namespace ns = MakeNamespace("shop");
  (*ns.mutable_metadata()->mutable_labels())["team"] = "payments";
  ASSERT_THAT(Reconcile(api_.Create(ns)), kube::IsOk());
  EXPECT_THAT(Labels("shop"), Contains(Pair("team", "payments")));
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
}

TEST_F(NamespaceLabelerTest, ReturnsTheConflictOfAStaleCache) {
  Namespace stale = api_.Create(MakeNamespace("shop"));
  Namespace changed = stale;
  (*changed.mutable_metadata()->mutable_labels())["team"] = "payments";
  api_.Update(changed);
  EXPECT_THAT(Reconcile(stale), FailsWith(Code::kConflict));
  EXPECT_THAT(Labels("shop"), Contains(Pair("team", "payments")));
}

TEST_F(NamespaceLabelerTest, IgnoresANamespaceThatIsBeingDeleted) {
  Namespace ns = MakeNamespace("shop");
  ns.mutable_metadata()->add_finalizers("example.com/backup");
  api_.Create(ns);
  api_.Delete<Namespace>({"", "shop"});
  ns = *api_.Get<Namespace>({"", "shop"});
  ASSERT_TRUE(ns.metadata().has_deletion_timestamp());
  EXPECT_THAT(Reconcile(ns), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
}

TEST_F(NamespaceLabelerTest, ANamespaceThatIsGoneIsNoError) {
  EXPECT_THAT(kube::Run(io_, labeler_.Reconcile({{"", "shop"}})), kube::IsOk());
  EXPECT_EQ(api_.CountCalls(""), 0) << "the cache does not have it";

  Namespace stale = api_.Create(MakeNamespace("shop"));
  api_.Delete<Namespace>({"", "shop"});
  EXPECT_THAT(Reconcile(stale), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_FALSE(api_.Get<Namespace>({"", "shop"})) << "it is not created again";
}

// The same parts as in main.cc: informer, queue, reconciler.
TEST(NamespaceLabelerControllerTest, LabelsANamespaceThatIsCreatedLater) {
  boost::asio::io_context io;
  kube::FakeClock clock;
  kube::FakeApiServer api(clock);
  kube::Informer<Namespace> namespaces(api, clock, {});
  NamespaceLabeler labeler(api, namespaces, {"team", "unknown"});
  kube::Controller controller({.name = "namespace-labeler"}, labeler, clock);
  namespaces.OnChange([&](kube::EventType, const kube::ObjectKey& ns) { controller.Enqueue(ns); });
  kube::TaskGroup tasks(io.get_executor());
  tasks.Spawn("namespace-watch", namespaces.Run());
  tasks.Spawn("namespace-labeler", controller.Run(tasks));
  kube::Drain(io);

  api.Create(MakeNamespace("shop"));
  kube::Drain(io);
  EXPECT_THAT(api.Get<Namespace>({"", "shop"})->metadata().labels(),
              Contains(Pair("team", "unknown")));
  EXPECT_THAT(kube::Run(io, tasks.Stop(clock, std::chrono::seconds(1))), kube::IsOk());
}

}  // namespace
}  // namespace examples

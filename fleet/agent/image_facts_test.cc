// SPDX-License-Identifier: Apache-2.0
// What a member publishes, and what it takes from its hub.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fleet/agent/fact_importer.h"
#include "fleet/agent/fact_publisher.h"
#include "fleet/image-facts/fleet_objects.h"
#include "image-facts/fact_book.h"
#include "image-facts/lifetime.h"
#include "image-facts/testing/make_facts.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using namespace std::chrono_literals;
using image_facts::DigestOf;
using image_facts::ImageFact;
using image_facts::ImageFacts;
using image_facts::OnLinux;
using image_facts::StoreFacts;
using kube::IsOk;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class MemberFactsTest : public testing::Test {
 protected:
  ImageFact Fact(const std::string& image, char digest = 'a', std::chrono::seconds age = 0s) {
    return {image, DigestOf(digest), OnLinux({"amd64"}), image_facts::SecondsNow(clock_) - age};
  }
  static std::set<std::string> In(kube::FakeApiServer& api, const std::string& ns, size_t objects) {
    std::set<std::string> images;
    for (size_t i = 0; i < objects; ++i) {
      auto object = api.Get<ImageFacts>({ns, image_facts::ObjectName(i)});
      if (!object) continue;
      for (const ImageFact& fact : object->facts) images.insert(fact.image);
    }
    return images;
  }
  std::set<std::string> Published() { return In(hub_, "c1", 8); }
  std::set<std::string> Known() { return In(member_, "ops", 64); }
  void Know(std::vector<ImageFact> facts, const std::string& name = "image-facts-0") {
    StoreFacts(member_, "ops", name, std::move(facts), "config");
  }
  static std::string SharedObject(size_t number) {
    return image_facts::ObjectName(number, kSharedLimits.prefix);
  }
  // Shares the objects, as the hub does.
  void Share(const std::vector<ImageFact>& facts, size_t number = 0) {
    StoreFacts(hub_, "hub", SharedObject(number), facts, "fleet");
    SharedVersions versions;
    for (size_t i = 0; i < 8; ++i) {
      auto object = hub_.Get<ImageFacts>({"hub", SharedObject(i)});
      if (object) versions[object->metadata().name()] = object->metadata().resource_version();
    }
    StoreFacts(hub_, "hub", std::string(kSharedHead), {}, ToText(versions));
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer hub_{clock_};
  kube::FakeApiServer member_{clock_};
  FactPublisher publisher_{hub_, member_, clock_, "c1", "ops"};
  FactImporter importer_{hub_, member_, clock_, "hub", "ops"};
};

TEST_F(MemberFactsTest, PublishesWhatRegistriesTellEverybody) {
  ImageFact of_some = Fact("r.io/some:1");
  of_some.scope = "team default key";
  Know({Fact("r.io/app:1"), of_some, Fact("r.io/old:1", 'b', 1h)});
  Know({Fact("r.io/other:1", 'c')}, "image-facts-5");
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  EXPECT_THAT(Published(), UnorderedElementsAre("r.io/app:1", "r.io/other:1"));
  EXPECT_EQ(hub_.CountWrites(), 1);

  const int reads = member_.CountCalls(
      "GET /apis/multiarch.openshift.io/v1alpha1/namespaces/ops/"
      "imagefacts/image-facts-");
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  EXPECT_EQ(hub_.CountWrites(), 1) << "nothing is new";
  EXPECT_EQ(member_.CountCalls("/imagefacts/image-facts-"), reads);

  Know({Fact("r.io/app:2", 'd')});
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  EXPECT_THAT(Published(), UnorderedElementsAre("r.io/app:1", "r.io/app:2", "r.io/other:1"));
}

TEST_F(MemberFactsTest, PublishesNoMoreThanTheHubReads) {
  for (int object = 0; object < 6; ++object) {
    std::vector<ImageFact> facts;
    for (size_t i = 0; i < image_facts::kMaxFactsPerObject; ++i)
      facts.push_back(Fact("r.io/" + std::to_string(object) + ":" + std::to_string(i)));
    Know(facts, image_facts::ObjectName(static_cast<size_t>(object)));
  }
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  EXPECT_FALSE(hub_.Get<ImageFacts>({"c1", image_facts::ObjectName(kPublishedLimits.objects)}));
  std::set<std::string> published = Published();
  EXPECT_GT(published.size(), 5'000u);
  EXPECT_TRUE(published.contains("r.io/5:2047"));
  EXPECT_FALSE(published.contains("r.io/0:0"));
}

TEST_F(MemberFactsTest, AfterARestartWhatIsPublishedStays) {
  Know({Fact("r.io/app:1")});
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  FactPublisher again(hub_, member_, clock_, "c1", "ops");
  ASSERT_THAT(kube::Run(io_, again.Publish()), IsOk());
  EXPECT_EQ(hub_.CountWrites(), 1);
}

TEST_F(MemberFactsTest, AConflictOnTheHubIsWrittenOver) {
  Know({Fact("r.io/app:1")});
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  StoreFacts(hub_, "c1", "image-facts-0", {Fact("r.io/foreign:1")}, "x");
  Know({Fact("r.io/app:1"), Fact("r.io/app:2", 'b')});
  EXPECT_THAT(kube::Run(io_, publisher_.Publish()), kube::FailsWith(kube::Code::kConflict));
  ASSERT_THAT(kube::Run(io_, publisher_.Publish()), IsOk());
  EXPECT_THAT(Published(), UnorderedElementsAre("r.io/app:1", "r.io/app:2"));
}

TEST_F(MemberFactsTest, TakesWhatTheHubShares) {
  Know({Fact("r.io/own:1")});
  Share({Fact("r.io/shared:1", 'b'), Fact("r.io/old:1", 'c', 1h), Fact("r.io/own:1")});
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_THAT(Known(), UnorderedElementsAre("r.io/own:1", "r.io/shared:1"));
  auto object = member_.Get<ImageFacts>({"ops", "image-facts-0"});
  EXPECT_EQ(object->configuration, "config");

  const int writes = member_.CountWrites();
  const size_t calls = hub_.calls().size();
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_EQ(hub_.calls().size(), calls + 1) << "the head alone";
  EXPECT_EQ(member_.CountWrites(), writes);

  Share({Fact("r.io/second:1", 'd')}, 1);
  const int read = hub_.CountCalls("/imagefacts/shared-image-facts-0");
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_TRUE(Known().contains("r.io/second:1"));
  EXPECT_EQ(hub_.CountCalls("/imagefacts/shared-image-facts-0"), read) << "it has not changed";
}

TEST_F(MemberFactsTest, AFactThatCountsHardlyLongerIsNoWrite) {
  Know({Fact("r.io/own:1", 'a', 2min)});
  Share({Fact("r.io/own:1", 'a')});
  const int writes = member_.CountWrites();
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_EQ(member_.CountWrites(), writes);
}

TEST_F(MemberFactsTest, TakesNothingWhereTheClusterControllerKeepsNone) {
  Share({Fact("r.io/shared:1", 'b')});
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_THAT(Known(), IsEmpty());
  Know({});
  ASSERT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
  EXPECT_THAT(Known(), ElementsAre("r.io/shared:1"));
}

TEST_F(MemberFactsTest, AHubThatSharesNothingIsNoError) {
  EXPECT_THAT(kube::Run(io_, importer_.Publish()), IsOk());
}

}  // namespace
}  // namespace fleet

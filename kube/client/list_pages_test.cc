// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/client/typed.h"
#include "kube/http/body_too_large.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using core::Pod;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kLarge = 1'000'000;

// A client with the default max_body_bytes of 12 MiB.
class BoundedClient final : public Client {
 public:
  explicit BoundedClient(FakeApiServer& api) : api_(api) {}

  Async<ApiResponse> Call(ApiRequest request) override {
    Result<ApiResponse> response = co_await api_.Call(std::move(request));
    if (!response) co_return response.error();
    if (response->body.size() > 12u << 20)
      co_return Error::FromHttpStatus(400, kBodyTooLarge, "too large");
    largest_ = std::max(largest_, response->body.size());
    co_return response;
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

  size_t largest_ = 0;

 private:
  FakeApiServer& api_;
};

class ListPagesTest : public testing::Test {
 protected:
  void Create(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      std::string name = "p" + std::to_string(10'000 + ++created_);
      api_.Create<Pod>(MakePod(name).Annotation("a", std::string(bytes, 'x')));
    }
  }
  size_t Count() {
    size_t count = 0;
    ListPages pages(client_, ResourceOf<Pod>::value, {}, /*protobuf=*/true);
    while (pages.more()) {
      Result<RawList> page = kube::Run(io_, pages.Next());
      EXPECT_THAT(page, IsOk());
      if (!page) break;
      size_t bytes = 0;
      for (const std::string& item : page->items) bytes += item.size();
      page_bytes_.push_back(bytes);
      count += page->items.size();
    }
    return count;
  }

  boost::asio::io_context io_;
  FakeApiServer api_;
  BoundedClient client_{api_};
  int created_ = 0;
  std::vector<size_t> page_bytes_;
};

TEST_F(ListPagesTest, ManySmallObjectsTakeFewPages) {
  Create(1500, 100);
  EXPECT_EQ(Count(), 1500u);
  EXPECT_LE(api_.CountCalls("GET"), 6);
}

TEST_F(ListPagesTest, PagesOfLargeObjectsAreShort) {
  Create(60, kLarge);
  EXPECT_EQ(Count(), 60u);
  EXPECT_THAT(page_bytes_, Each(testing::Lt(6u << 20)));
}

// Small objects increase the page size; the next page must shrink again for large objects.
TEST_F(ListPagesTest, LargeObjectsAfterSmallOnesAreListed) {
  Create(400, 100);
  Create(300, kLarge);
  Create(10, 100);
  EXPECT_EQ(Count(), 710u);
  EXPECT_LE(client_.largest_, 12u << 20);
}

TEST_F(ListPagesTest, ASmallerLimitAppliesToTheFirstPage) {
  Create(5, 100);
  ListPages pages(client_, ResourceOf<Pod>::value, {.limit = 2}, /*protobuf=*/true);
  Result<RawList> page = kube::Run(io_, pages.Next());
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->items.size(), 2u);
  ListPages rest(client_, ResourceOf<Pod>::value, {}, /*protobuf=*/true, pages.continue_token());
  page = kube::Run(io_, rest.Next());
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->items.size(), 3u);
}

TEST_F(ListPagesTest, ASingleObjectAboveTheBodyLimitIsAnError) {
  Create(1, 13u << 20);
  ListPages pages(client_, ResourceOf<Pod>::value, {}, /*protobuf=*/true);
  EXPECT_THAT(kube::Run(io_, pages.Next()), FailsWith(Code::kInvalid));
}

}  // namespace
}  // namespace kube

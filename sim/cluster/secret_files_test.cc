// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/secret_files.h"

#include <gtest/gtest.h>

#include <memory>

#include "kube/base/base64.h"
#include "kube/types/kinds.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

const kube::ObjectKey kKey{"shop", "hook"};

class SecretFilesTest : public testing::Test {
 protected:
  void Store(const std::string& certificate) {
    Json secret = {{"data", {{"tls.crt", kube::Base64Encode(certificate)}}}};
    Commit(std::make_shared<const Json>(std::move(secret)));
  }
  void Commit(std::shared_ptr<const Json> after) {
    files_.OnCommit({.version = 1,
                     .collection = kube::kSecrets.Path(),
                     .key = kKey,
                     .before = nullptr,
                     .after = std::move(after),
                     .caller = {},
                     .verb = "update",
                     .subresource = ""});
  }
  void Pass(kube::Duration time) { loop_.RunUntil(loop_.now() + time); }

  Loop loop_{Random(1)};
  SecretFiles files_{loop_, Random(1)};
};

TEST_F(SecretFilesTest, APodStartsWithWhatIsStored) {
  EXPECT_FALSE(files_.Exists(kKey));
  Store("one");
  EXPECT_TRUE(files_.Exists(kKey));
  Pass(1s);
  Store("two");
  EXPECT_EQ(files_.Certificate(files_.NewMount(kKey)), "two");
}

TEST_F(SecretFilesTest, AChangeIsSeenLate) {
  Store("one");
  SecretFiles::Mount mount = files_.NewMount(kKey);
  ASSERT_GT(mount.delay, 1s);
  Pass(10min);
  Store("two");
  Pass(mount.delay - 1ms);
  EXPECT_EQ(files_.Certificate(mount), "one");
  Pass(1ms);
  EXPECT_EQ(files_.Certificate(mount), "two");
}

TEST_F(SecretFilesTest, OldVersionsAreForgottenWhenNoPodShowsThem) {
  for (int i = 0; i < 100; ++i) {
    Store(std::to_string(i));
    Pass(SecretFiles::kLatest + 1ms);
  }
  EXPECT_EQ(files_.Certificate(files_.NewMount(kKey)), "99");
}

TEST_F(SecretFilesTest, FilesOutliveTheSecret) {
  Store("one");
  SecretFiles::Mount mount = files_.NewMount(kKey);
  Commit(nullptr);
  Pass(10min);
  EXPECT_FALSE(files_.Exists(kKey));
  EXPECT_EQ(files_.Certificate(mount), "one");
}

}  // namespace
}  // namespace sim

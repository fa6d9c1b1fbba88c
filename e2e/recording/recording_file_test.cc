// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/recording_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/checker/testing/run.h"

namespace e2e {
namespace {

using kube::Json;
using sim::checker::Commit;
using sim::checker::JsonRef;
using sim::checker::Share;
using namespace std::chrono_literals;

JsonRef Version(const std::string& version) {
  Json pod = sim::checker::Pod("web");
  pod["metadata"]["resourceVersion"] = version;
  return Share(std::move(pod));
}

Commit At(uint64_t version, JsonRef before, JsonRef after) {
  return {.version = version,
          .plural = "pods",
          .key = {"shop", "web"},
          .before = std::move(before),
          .after = std::move(after),
          .user = "alice",
          .verb = "update",
          .subresource = "status",
          .at = std::chrono::milliseconds(version)};
}

class RecordingFileTest : public testing::Test {
 protected:
  void Write(const std::vector<Recorded>& parts) {
    std::ofstream out(path_);
    RecordingWriter writer(out);
    for (const Recorded& part : parts) writer.Write(part);
  }
  std::string Text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string path_ = testing::TempDir() + "/recording.jsonl";
};

TEST_F(RecordingFileTest, ComesBack) {
  JsonRef first = Version("5"), second = Version("7"), missed = Version("8");
  Commit created = At(5, nullptr, first);
  created.sent = Share(sim::checker::Pod("web"));
  const std::vector<Recorded> parts = {
      {.commits = {created}},
      {.commits = {At(7, first, second), At(9, missed, nullptr), At(11, nullptr, first)},
       .gaps = {{.group = "apps", .plural = "deployments", .from = 1s, .to = 2s, .why = "410"}},
       .refused = {{.user = "alice", .pod = {"shop", "web"}, .at = 3s}}}};
  Write(parts);
  kube::Result<Recorded> read = ReadRecording(path_);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->gaps.size(), 1u);
  EXPECT_EQ(read->gaps[0].plural, "deployments");
  EXPECT_EQ(read->gaps[0].group, "apps");
  EXPECT_EQ(read->gaps[0].from, 1s);
  EXPECT_EQ(read->gaps[0].to, 2s);
  EXPECT_EQ(read->gaps[0].why, "410");
  ASSERT_EQ(read->refused.size(), 1u);
  EXPECT_EQ(read->refused[0].user, "alice");
  EXPECT_EQ(read->refused[0].pod.ToString(), "shop/web");
  EXPECT_EQ(read->refused[0].at, 3s);
  ASSERT_EQ(read->commits.size(), 4u);
  const std::vector<Commit> wrote = {created, parts[1].commits[0], parts[1].commits[1],
                                     parts[1].commits[2]};
  for (size_t i = 0; i < wrote.size(); ++i) {
    const Commit &got = read->commits[i], &want = wrote[i];
    EXPECT_EQ(got.version, want.version);
    EXPECT_EQ(got.at, want.at);
    EXPECT_EQ(got.plural, want.plural);
    EXPECT_EQ(got.key, want.key);
    EXPECT_EQ(got.user, want.user);
    EXPECT_EQ(got.verb, want.verb);
    EXPECT_EQ(got.subresource, want.subresource);
    for (auto member : {&Commit::before, &Commit::after, &Commit::sent}) {
      ASSERT_EQ(got.*member == nullptr, want.*member == nullptr) << i;
      if (!(want.*member)) continue;
      EXPECT_EQ(*(got.*member), *(want.*member)) << i;
    }
  }
}

TEST_F(RecordingFileTest, WritesEachStateOnce) {
  JsonRef first = Version("5"), second = Version("7");
  Write({{.commits = {At(5, nullptr, first), At(7, first, second)}}});
  EXPECT_EQ(Text().find("\"before\""), std::string::npos);
}

TEST_F(RecordingFileTest, IgnoresALineThatIsNotComplete) {
  Write({{.commits = {At(5, nullptr, Version("5"))}}});
  std::ofstream(path_, std::ios::app) << "{\"version\": 7, \"pl";
  kube::Result<Recorded> read = ReadRecording(path_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->commits.size(), 1u);
}

TEST_F(RecordingFileTest, RefusesWhatIsNoRecording) {
  EXPECT_EQ(ReadRecording(testing::TempDir() + "/none").error().code(), kube::Code::kNotFound);
  std::ofstream(path_) << "{\"format\": \"other\"}\n";
  EXPECT_EQ(ReadRecording(path_).error().code(), kube::Code::kInvalid);
  std::ofstream{path_};
  EXPECT_EQ(ReadRecording(path_).error().code(), kube::Code::kInvalid);
  Write({});
  std::ofstream(path_, std::ios::app) << "{broken\n{}\n";
  EXPECT_EQ(ReadRecording(path_).error().code(), kube::Code::kInvalid);
}

}  // namespace
}  // namespace e2e

// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace exec_format {
namespace {

using kube::Json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr char kUid[] = "15778196-6e1f-4b5d-8012-12c7bf5c04b3";
constexpr size_t kMaxEventMessage = 1'024;

ENoExecEvent Event() {
  ENoExecEvent event;
  event.mutable_metadata()->mutable_creation_timestamp()->set_seconds(1'767'225'600);  // 2026
  event.node_name = "node-a";
  event.pod_uid = kUid;
  return event;
}

TEST(FindingTest, AnObjectIsSkippedByItsAge) {
  struct Row {
    const char* node;
    std::chrono::seconds age;
    std::optional<Skipped> skipped;
    bool waits;
  };
  for (const Row& row : {
           Row{"node-a", 0s, std::nullopt, false},
           Row{"node-a", kMaxAge, std::nullopt, false},
           Row{"node-a", kMaxAge + 1s, Skipped::kTooOld, false},
           Row{"", 0s, std::nullopt, true},
           Row{"", kStatusWithin - 1s, std::nullopt, true},
           Row{"", kStatusWithin, Skipped::kNoStatus, false},
           Row{"", kMaxAge + 1s, Skipped::kNoStatus, false},
       }) {
    ENoExecEvent event = Event();
    event.node_name = row.node;
    EXPECT_EQ(SkippedByAge(event, row.age), row.skipped) << row.node << row.age.count();
    EXPECT_EQ(WaitsForStatus(event, row.age), row.waits) << row.node << row.age.count();
  }
}

TEST(FindingTest, APodIsNamedByValidNamesAlone) {
  struct Row {
    const char *ns, *name;
    bool named;
  };
  for (const Row& row : {
           Row{"shop", "web-0", true},
           Row{"shop", "", false},
           Row{"", "web-0", false},
           Row{"shop", "../../secrets/x", false},
           Row{"shop/pods", "web-0", false},
           Row{"shop", "Web", false},
       }) {
    ENoExecEvent event = Event();
    event.pod_namespace = row.ns;
    event.pod_name = row.name;
    EXPECT_EQ(NamedPod(event).has_value(), row.named) << row.ns << " " << row.name;
  }
}

TEST(FindingTest, APodIsFoundByAValidUidOnAValidNodeAlone) {
  ENoExecEvent event = Event();
  EXPECT_TRUE(HasPodUid(event));
  event.pod_uid = "uid,spec.nodeName=b";
  EXPECT_FALSE(HasPodUid(event));
  event.pod_uid = std::string(37, 'a');
  EXPECT_FALSE(HasPodUid(event));
  event.pod_uid.clear();
  EXPECT_FALSE(HasPodUid(event));
  event = Event();
  event.node_name = "node-a,metadata.namespace!=kube-system";
  EXPECT_FALSE(HasPodUid(event));
}

TEST(FindingTest, ThePodMustBeOnTheNodeOfTheObject) {
  struct Row {
    const char* what;
    Json pod;
    std::string uid;
    bool matches;
  };
  const Json metadata = {{"uid", kUid}, {"creationTimestamp", "2025-12-31T23:59:59Z"}};
  const Json younger = {{"uid", kUid}, {"creationTimestamp", "2026-01-01T00:00:01Z"}};
  const Json on_node = {{"nodeName", "node-a"}};
  const Json elsewhere = {{"nodeName", "node-b"}};
  for (const Row& row : {
           Row{"by UID", {{"metadata", metadata}, {"spec", on_node}}, kUid, true},
           Row{"by name", {{"metadata", metadata}, {"spec", on_node}}, "", true},
           Row{"another node", {{"metadata", metadata}, {"spec", elsewhere}}, kUid, false},
           Row{"another node by name", {{"metadata", metadata}, {"spec", elsewhere}}, "", false},
           Row{"no node", {{"metadata", metadata}, {"spec", Json::object()}}, kUid, false},
           Row{"another UID", {{"metadata", metadata}, {"spec", on_node}}, "0-0", false},
           Row{"a UID that is not valid", {{"metadata", metadata}, {"spec", on_node}}, "X", false},
           Row{"created again", {{"metadata", younger}, {"spec", on_node}}, "", false},
           Row{"fields of other types", {{"metadata", 7}, {"spec", "x"}}, kUid, false},
           Row{"no object", Json::array(), kUid, false},
       }) {
    ENoExecEvent event = Event();
    event.pod_uid = row.uid;
    EXPECT_EQ(IsPodOf(row.pod, event), row.matches) << row.what;
  }
  // Both are empty.
  ENoExecEvent nowhere;
  EXPECT_FALSE(IsPodOf({{"metadata", Json::object()}, {"spec", {{"nodeName", ""}}}}, nowhere));
}

TEST(FindingTest, TheContainerIsThatOfTheId) {
  const Json pod = kube::MustParseJson(R"({"status": {
    "containerStatuses": [
      7,
      {"name": "none"},
      {"name": "app", "containerID": "containerd://a1",
       "state": {"terminated": {"containerID": "containerd://a2"}},
       "lastState": {"terminated": {"containerID": "containerd://a3"}}}],
    "initContainerStatuses": [{"name": "init", "containerID": "containerd://b1"}],
    "ephemeralContainerStatuses": [
      {"name": "debugger", "lastState": {"terminated": {"containerID": "containerd://c1"}}}]}})");
  struct Row {
    const char *id, *name;
  };
  for (const Row& row : {
           Row{"containerd://a1", "app"},
           Row{"containerd://a2", "app"},
           Row{"containerd://a3", "app"},
           Row{"containerd://b1", "init"},
           Row{"containerd://c1", "debugger"},
           Row{"cri://a1", "app"},
           Row{"containerd://d1", ""},
           Row{"containerd://", ""},
           Row{"a1", ""},
           Row{"", ""},
       })
    EXPECT_EQ(ContainerNameOf(pod, row.id), row.name) << row.id;
  EXPECT_EQ(ContainerNameOf(Json::object(), "containerd://a1"), "");
  EXPECT_EQ(ContainerNameOf({{"status", {{"containerStatuses", "x"}}}}, "containerd://a1"), "");
}

TEST(FindingTest, TheMessageSaysWhatToDo) {
  EXPECT_THAT(MessageOf({"app", "/app/server", "", "node-a", "arm64"}),
              AllOf(StartsWith("Container \"app\" tried to execute \"/app/server\", which is no "
                               "program for the node node-a (arm64). "),
                    HasSubstr("kubectl placement inspect IMAGE --deep")));
}

TEST(FindingTest, WhatIsNotKnownIsNotSaid) {
  EXPECT_THAT(MessageOf({.node = "node-a"}),
              StartsWith("A container tried to execute a file, which is no program for the node "
                         "node-a. "));
}

TEST(FindingTest, AHostileCommandDoesNotBreakTheText) {
  struct Row {
    std::string command;
    const char* shown;
  };
  for (const Row& row : {
           Row{"/a\nb", R"("/a\x0ab")"},
           Row{"\x1b[31m", R"("\x1b[31m")"},
           Row{"a\" is fine. \"", R"("a\x22 is fine. \x22")"},
           Row{R"(a\x41)", R"("a\x5cx41")"},
           Row{"`rm`", R"("\x60rm\x60")"},
           // U+202E, which reverses what follows, and bytes that are not UTF-8.
           Row{"\xe2\x80\xae", R"("\xe2\x80\xae")"},
           Row{"\xff", R"("\xff")"},
           Row{std::string("a\0b", 3), R"("a\x00b")"},
           Row{"/opt/my app", R"("/opt/my app")"},
       }) {
    std::string message = MessageOf({"app", row.command, "", "node-a", "arm64"});
    EXPECT_THAT(message, HasSubstr(std::string("execute ") + row.shown + ", which"));
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return c >= 0x20 && c < 0x7f;
    })) << message;
  }
}

TEST(FindingTest, TheMessageSaysWhatTheFileIs) {
  EXPECT_THAT(
      MessageOf({"app", "/app/server", "ELF 64-bit amd64", "node-a", "arm64"}),
      StartsWith("Container \"app\" tried to execute \"/app/server\" (ELF 64-bit amd64), which "
                 "is no program for the node node-a (arm64)."));
}

TEST(FindingTest, TheMessageFitsInAnEvent) {
  for (char c : {'a', '\n', '\xff'}) {
    std::string message =
        MessageOf({std::string(500, c), std::string(4'000, c), std::string(500, c),
                   std::string(253, 'n'), std::string(500, c)});
    EXPECT_LE(message.size(), kMaxEventMessage);
    EXPECT_THAT(message, AllOf(HasSubstr("...\""), EndsWith("in the same way.")));
  }
  // One that fits is shown whole.
  std::string command(kShownCommand, 'a');
  EXPECT_THAT(MessageOf({"app", command, "", "node-a", "arm64"}),
              AllOf(HasSubstr("\"" + command + "\""), Not(HasSubstr("..."))));
}

}  // namespace
}  // namespace exec_format

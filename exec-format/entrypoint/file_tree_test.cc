// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/file_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/testing/matchers.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using Kind = LayerEntry::Kind;
using State = FileTree::State;

LayerEntry File(const std::string& path, const std::string& interpreter = "") {
  LayerEntry entry{.kind = Kind::kFile, .path = path, .executable = true};
  entry.format = {.kind = BinaryFormat::Kind::kScript, .interpreter = interpreter};
  return entry;
}
LayerEntry Folder(const std::string& path) { return {.kind = Kind::kDirectory, .path = path}; }
LayerEntry Link(const std::string& path, const std::string& target) {
  return {.kind = Kind::kSymlink, .path = path, .target = target};
}
LayerEntry Hard(const std::string& path, const std::string& target) {
  return {.kind = Kind::kHardLink, .path = path, .target = target};
}

// From the top.
using Layers = std::vector<std::vector<LayerEntry>>;
void Fill(FileTree& tree, const Layers& layers, bool complete = true) {
  for (const auto& layer : layers) {
    tree.BeginLayer();
    for (const LayerEntry& entry : layer) ASSERT_THAT(tree.Add(entry), IsOk());
  }
  if (complete) tree.Complete();
}

// "/path@layer", or the state.
std::string Find(const Layers& layers, const std::string& path, bool complete = true) {
  FileTree tree;
  Fill(tree, layers, complete);
  FileTree::Found found = tree.Find(path);
  switch (found.state) {
    case State::kFound:
      return found.path + "@" + std::to_string(found.layer);
    case State::kUnknown:
      return "unknown";
    case State::kAbsent:
      return "absent";
    case State::kHidden:
      return "hidden";
    case State::kLinkLoop:
      return "loop";
    case State::kNotAFile:
      return "not a file";
  }
  return "";
}

TEST(FileTreeTest, PathsOfOneLayer) {
  const Layers layers = {{Folder("bin"),
                          File("bin/dash"),
                          Link("bin/sh", "dash"),
                          Link("abs", "/bin/sh"),
                          Link("usr/bin", "../bin"),
                          Link("up", "../../bin/sh"),
                          Link("out", "/../../../bin/dash"),
                          Link("loop", "loop2"),
                          Link("loop2", "/loop"),
                          Link("self", "self/x"),
                          Hard("bin/ash", "bin/dash"),
                          Hard("ash2", "bin/ash"),
                          Hard("lost", "nowhere"),
                          Hard("me", "me"),
                          Link("dangling", "nothing"),
                          File("opt/a/b"),
                          Link("deep", "opt/a/../a/b"),
                          Link("via", "usr/bin/../opt/a/b"),
                          {.kind = Kind::kOther, .path = "dev/null"}}};
  struct Row {
    const char* path;
    const char* found;
  };
  for (const Row& row : {
           Row{"/bin/dash", "/bin/dash@0"},
           Row{"//bin/./dash", "/bin/dash@0"},
           Row{"/bin/sh", "/bin/dash@0"},
           Row{"/abs", "/bin/dash@0"},
           Row{"/usr/bin/sh", "/bin/dash@0"},
           Row{"/up", "/bin/dash@0"},
           Row{"/out", "/bin/dash@0"},
           Row{"/../../bin/sh", "/bin/dash@0"},
           Row{"/usr/bin/../bin/sh", "/bin/dash@0"},  // the parent of the link's target
           Row{"/loop", "loop"},
           Row{"/self", "loop"},
           Row{"/bin/ash", "/bin/ash@0"},
           Row{"/ash2", "/ash2@0"},
           Row{"/lost", "absent"},
           Row{"/me", "loop"},
           Row{"/dangling", "absent"},
           Row{"/deep", "/opt/a/b@0"},
           Row{"/via", "/opt/a/b@0"},
           Row{"/bin/dash/x", "absent"},
           Row{"/bin/dash/../sh", "absent"},
           Row{"/nothing/../bin/sh", "/bin/dash@0"},  // a folder may have no entry
           Row{"/bin", "not a file"},
           Row{"/dev/null", "not a file"},
           Row{"/", "not a file"},
           Row{"", "not a file"},
           Row{"/none", "absent"},
       })
    EXPECT_EQ(Find(layers, row.path), row.found) << row.path;
}

TEST(FileTreeTest, LaterEntriesReplaceEarlierOnes) {
  FileTree tree;
  Fill(tree, {{File("a", "/one"), File("b"), File("a", "/two"), Link("b", "a")}});
  EXPECT_EQ(tree.Find("/a").format.interpreter, "/two");
  EXPECT_EQ(tree.Find("/b").path, "/a");
}

TEST(FileTreeTest, LayersAboveDecide) {
  struct Row {
    const char* name;
    Layers layers;
    const char* path;
    const char* found;
  };
  for (const Row& row : {
           Row{"above", {{File("a")}, {File("a")}}, "/a", "/a@0"},
           Row{"below", {{File("b")}, {File("a")}}, "/a", "/a@1"},
           Row{"whiteout", {{File(".wh.a")}, {File("a")}}, "/a", "hidden"},
           Row{"whiteout of a folder", {{File("d/.wh.e")}, {File("d/e/a")}}, "/d/e/a", "hidden"},
           Row{"whiteout and new",
               {{File("d/.wh.a"), File("d/a")}, {File("d/a")}},
               "/d/a",
               "/d/a@0"},
           Row{"whiteout is for layers below", {{File("a")}, {File(".wh.a")}, {}}, "/a", "/a@0"},
           Row{"back again", {{File("a")}, {File(".wh.a")}, {File("a")}}, "/a", "/a@0"},
           Row{"opaque", {{Folder("d"), File("d/.wh..wh..opq")}, {File("d/a")}}, "/d/a", "hidden"},
           Row{"opaque, own",
               {{File("d/.wh..wh..opq"), File("d/b")}, {File("d/a")}},
               "/d/b",
               "/d/b@0"},
           Row{"opaque, deep", {{File("d/.wh..wh..opq")}, {File("d/e/f/a")}}, "/d/e/f/a", "hidden"},
           Row{"opaque, other", {{File("d/.wh..wh..opq")}, {File("e/a")}}, "/e/a", "/e/a@1"},
           Row{"opaque, itself", {{File("d/.wh..wh..opq")}, {File("d")}}, "/d", "/d@1"},
           Row{"opaque root", {{File(".wh..wh..opq")}, {File("a")}}, "/a", "hidden"},
           Row{"metadata of AUFS", {{File(".wh..wh.plnk")}, {File("a")}}, "/a", "/a@1"},
           Row{"link below",
               {{File("usr/bin/a")}, {Link("bin", "usr/bin")}},
               "/bin/a",
               "/usr/bin/a@0"},
           Row{"written through a link",
               {{File("bin/a")}, {Link("bin", "usr/bin")}},
               "/bin/a",
               "/bin/a@0"},
           Row{"link above", {{Link("a", "b")}, {File("b"), File("a")}}, "/a", "/b@1"},
           Row{"link to what a layer above removes",
               {{File(".wh.b")}, {Link("a", "b")}, {File("b")}},
               "/a",
               "hidden"},
           Row{"folder in place of a link",
               {{Folder("bin")}, {Link("bin", "usr/bin")}, {File("usr/bin/a"), File("bin/a")}},
               "/bin/a",
               "absent"},
           Row{"file in place of a folder", {{File("d")}, {File("d/a")}}, "/d/a", "absent"},
           Row{"hard link to a layer below", {{Hard("a", "b")}, {File("b")}}, "/a", "/a@1"},
           Row{"hard link, not to a layer above", {{File("b")}, {Hard("a", "b")}}, "/a", "absent"},
           Row{"hard link to a symlink",
               {{Hard("a", "l"), Link("l", "b"), File("b")}},
               "/a",
               "/b@0"},
       })
    EXPECT_EQ(Find(row.layers, row.path), row.found) << row.name;
}

TEST(FileTreeTest, WhatLayersBelowDecideIsNotKnown) {
  EXPECT_EQ(Find({{File("a")}}, "/b", /*complete=*/false), "unknown");
  EXPECT_EQ(Find({{File("a")}}, "/a", /*complete=*/false), "/a@0");
  EXPECT_EQ(Find({{Link("a", "bin/b")}}, "/a", /*complete=*/false), "unknown");
  EXPECT_EQ(Find({{File(".wh.a")}}, "/a", /*complete=*/false), "hidden");
  EXPECT_EQ(Find({{File("b")}}, "/a/../b", /*complete=*/false), "unknown");  // a may be a link
  EXPECT_EQ(Find({{File("b"), Folder("a")}}, "/a/../b", /*complete=*/false), "/b@0");
}

TEST(FileTreeTest, LinksAreCounted) {
  std::vector<LayerEntry> chain;
  for (int i = 0; i < 60; ++i)
    chain.push_back(Link("l" + std::to_string(i), "l" + std::to_string(i + 1)));
  chain.push_back(File("l60"));
  EXPECT_EQ(Find({chain}, "/l0"), "loop");
  EXPECT_EQ(Find({chain}, "/l20"), "/l60@0");
  // A link that grows.
  std::string target;
  for (int i = 0; i < 100; ++i) target += "x/../";
  EXPECT_EQ(Find({{Link("x", target + target + "x")}}, "/x"), "loop");
  std::string path;
  for (int i = 0; i < 300; ++i) path += "/d";
  EXPECT_EQ(Find({{File("a")}}, path), "loop");
}

TEST(FileTreeTest, LookupsAreCounted) {
  FileTree tree;
  for (int i = 0; i < 500; ++i) tree.BeginLayer();
  EXPECT_THAT(tree.Add(File("app")), IsOk());
  EXPECT_EQ(tree.Find("/app").state, State::kFound);
  std::string path;
  for (size_t i = 0; i < kMaxPathNames; ++i) path += "/d";
  int finds = 0;
  while (finds < 1000 && tree.Find(path).state == State::kUnknown) ++finds;
  EXPECT_GT(finds, 20);
  EXPECT_LT(finds, 50);
  EXPECT_EQ(tree.Find("/app").state, State::kLinkLoop);
}

TEST(FileTreeTest, IsBounded) {
  FileTree files;
  size_t added = 0;
  while (added <= kMaxEntries && files.Add(File("f" + std::to_string(added)))) ++added;
  EXPECT_EQ(added, kMaxEntries);
  EXPECT_EQ(files.Find("/f77777").state, State::kFound);

  FileTree links;
  added = 0;
  while (added <= kMaxEntries &&
         links.Add(Link("l" + std::to_string(added), std::string(4096, 'x'))))
    ++added;
  EXPECT_LE(added * 4096, kMaxTreeTextBytes);

  FileTree formats;
  added = 0;
  while (added <= kMaxEntries &&
         formats.Add(File("f" + std::to_string(added), std::to_string(added))))
    ++added;
  EXPECT_LT(added * sizeof(BinaryFormat), kMaxTreeTextBytes);
}

}  // namespace
}  // namespace exec_format

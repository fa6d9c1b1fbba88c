// SPDX-License-Identifier: Apache-2.0
// On the running kernel, with real files; skipped where that permits no BPF program.
#include "exec-format/monitor/kernel/kernel_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "exec-format/monitor/kernel/exec_error_record.h"
#include "exec-format/testing/started_file.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/testing/run.h"

namespace exec_format {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;

class KernelWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto watch = KernelWatch::New(io_.get_executor());
    if (!watch) {
      ASSERT_NE(watch.error().code(), kube::Code::kInternal) << watch.error();
      GTEST_SKIP() << watch.error();
    }
    watch_ = std::move(*watch);
    tasks_.Spawn("watch", Watch());
  }
  void TearDown() override {
    if (watch_ == nullptr) return;
    EXPECT_TRUE(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)));
    fs::remove_all(folder_);
  }

  std::string Write(const std::string& name, const std::string& content) {
    return WriteExecutable(folder_, name, content);
  }

  size_t Seen(const std::string& path) const {
    return std::count_if(seen_.begin(), seen_.end(),
                         [&](const ExecError& error) { return error.path == path; });
  }
  bool RunUntilSeen(const std::string& path) {
    return kube::RunUntil(io_, [&] { return Seen(path) > 0; });
  }

  kube::asio::io_context io_{1};
  std::unique_ptr<KernelWatch> watch_;
  std::vector<ExecError> seen_;

 private:
  kube::asio::awaitable<void> Watch() {
    KernelWatch::Listener listener = [this](ExecError error) { seen_.push_back(std::move(error)); };
    kube::Result<> ended = co_await watch_->Run(std::move(listener));
    EXPECT_EQ(ended.error().code(), kube::Code::kCancelled) << ended.error();
  }

  kube::TaskGroup tasks_{io_.get_executor()};
  fs::path folder_ = fs::temp_directory_path() / ("kernel-watch-" + std::to_string(getpid()));
};

TEST_F(KernelWatchTest, TellsOfBothCalls) {
  for (Call call : {Call::kExecve, Call::kExecveat}) {
    std::string path = Write(call == Call::kExecve ? "foreign" : "foreign-at", ForeignElf());
    ASSERT_EQ(Start(path, call), ENOEXEC);
    EXPECT_TRUE(RunUntilSeen(path));
    EXPECT_EQ(Seen(path), 1u);
  }
}

TEST_F(KernelWatchTest, TellsOfFilesThatAreNoBinaries) {
  for (const auto& [name, content] :
       {std::pair{"empty", ""}, {"script", "echo no interpreter is named\n"}}) {
    std::string path = Write(name, content);
    ASSERT_EQ(Start(path), ENOEXEC);
    EXPECT_TRUE(RunUntilSeen(path));
  }
}

// Not on all kernels; the tests in a virtual machine have one that does.
TEST_F(KernelWatchTest, TellsTheFirstBytesOfTheFile) {
  const std::string elf = Write("elf", ForeignElf());
  ASSERT_EQ(Start(elf), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(elf));
  if (!seen_.back().head) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_EQ(*seen_.back().head, ForeignElf().substr(0, EXEC_ERROR_HEAD));
  const std::string text = Write("text", "echo no interpreter is named\n");
  ASSERT_EQ(Start(text), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(text));
  EXPECT_EQ(seen_.back().head, "echo no interpreter is named\n");
  const std::string empty = Write("empty", "");
  ASSERT_EQ(Start(empty), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(empty));
  EXPECT_EQ(seen_.back().head, "");
  // The interpreter is the file that fails.
  const std::string script = Write("script", "#!" + elf + "\n");
  ASSERT_EQ(Start(script), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(script));
  EXPECT_EQ(*seen_.back().head, ForeignElf().substr(0, EXEC_ERROR_HEAD));
}

TEST_F(KernelWatchTest, OtherErrorsAndSuccessAreNotTold) {
  EXPECT_EQ(Start("/no/such/file"), ENOENT);
  EXPECT_EQ(Start("/bin/true"), 0);
  std::string last = Write("last", "");
  ASSERT_EQ(Start(last), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(last));
  EXPECT_EQ(Seen("/no/such/file"), 0u);
  EXPECT_EQ(Seen("/bin/true"), 0u);
}

TEST_F(KernelWatchTest, ALongPathIsCut) {
  std::string path = Write("l" + std::string(250, 'o') + "ng", "");
  std::string long_path =
      path.substr(0, path.rfind('/')) + std::string(200, '/') + path.substr(path.rfind('/') + 1);
  ASSERT_EQ(Start(long_path), ENOEXEC);
  EXPECT_TRUE(RunUntilSeen(long_path.substr(0, 255)));
}

TEST_F(KernelWatchTest, NamesTheCgroupsAroundTheProcess) {
  std::string root = CgroupRoot();
  if (root.empty()) GTEST_SKIP() << "no cgroup can be made";
  std::string outer = "/kernel-watch-" + std::to_string(getpid());
  std::string inner = outer + "/cri-" + std::string(64, 'a') + ".scope";
  fs::create_directories(root + inner);
  std::string path = Write("in-cgroup", "");
  EXPECT_EQ(Start(path, Call::kExecve, root + inner), ENOEXEC);
  EXPECT_TRUE(RunUntilSeen(path));
  for (const ExecError& error : seen_) {
    if (error.path != path) continue;
    EXPECT_THAT(error.cgroups, ElementsAre(inner.substr(outer.size() + 1), outer.substr(1)));
    EXPECT_TRUE(error.whole);
  }
  fs::remove(root + inner);
  fs::remove(root + outer);
}

TEST_F(KernelWatchTest, MoreCgroupsThanARecordHoldsAreNotWhole) {
  std::string root = CgroupRoot();
  if (root.empty()) GTEST_SKIP() << "no cgroup can be made";
  std::string name = "kernel-watch-deep-" + std::to_string(getpid());
  std::string deep = root;
  for (int level = 0; level < 13; ++level) fs::create_directory(deep += "/" + name);
  std::string path = Write("in-deep-cgroup", "");
  EXPECT_EQ(Start(path, Call::kExecve, deep), ENOEXEC);
  EXPECT_TRUE(RunUntilSeen(path));
  for (const ExecError& error : seen_) {
    if (error.path != path) continue;
    EXPECT_EQ(error.cgroups.size(), 12u);
    EXPECT_FALSE(error.whole);
  }
  for (; deep != root; deep.resize(deep.rfind('/'))) fs::remove(deep);
}

// A loop of failing calls in a cgroup wakes nobody up, and no other cgroup has less for it.
TEST_F(KernelWatchTest, ACgroupHasItsShare) {
  std::string root = CgroupRoot();
  if (root.empty()) GTEST_SKIP() << "no cgroup can be made";
  std::string loop = root + "/kernel-watch-loop-" + std::to_string(getpid());
  std::string quiet = root + "/kernel-watch-quiet-" + std::to_string(getpid());
  fs::create_directory(loop);
  fs::create_directory(quiet);
  std::string path = Write("in-loop", "");
  for (int call = 0; call < 300; ++call) ASSERT_EQ(Start(path, Call::kExecve, loop), ENOEXEC);
  std::string last = Write("in-quiet", "");
  ASSERT_EQ(Start(last, Call::kExecve, quiet), ENOEXEC);
  ASSERT_TRUE(RunUntilSeen(last));
  // Of two windows, should one begin meanwhile.
  EXPECT_LE(Seen(path), 8u);
  EXPECT_GE(watch_->losses().of_cgroup, 292u);
  fs::remove(loop);
  fs::remove(quiet);
}

}  // namespace
}  // namespace exec_format

// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fleet/cel/messages.h"
#include "fleet/cel/testing/child_processes.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet::cel {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::Result;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class EvaluatorProcessTest : public testing::Test {
 protected:
  std::unique_ptr<EvaluatorProcess> Start(const std::string& program) {
    auto process = EvaluatorProcess::Start(io_.get_executor(), clock_, program).value();
    process->Expect(std::chrono::minutes(10), std::chrono::minutes(10));
    return process;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
};

TEST_F(EvaluatorProcessTest, CarriesFrames) {
  auto process = Start("/bin/cat");
  for (size_t size : {0u, 1u, 255u, 256u, 65536u}) {
    std::string frame(size, 'x');
    std::string_view frames[] = {frame, "next"};
    ASSERT_THAT(kube::Run(io_, process->Write(frames)), kube::IsOk());
    Result<std::string> echo = kube::Run(io_, process->Read());
    ASSERT_THAT(echo, kube::IsOk());
    EXPECT_EQ(*echo, frame);
    EXPECT_EQ(kube::Run(io_, process->Read()).value(), "next");
  }
  std::string too_long(EvaluatorProcess::kMaxFrameBytes + 1, 'x');
  std::string_view frames[] = {too_long};
  EXPECT_THAT(kube::Run(io_, process->Write(frames)), FailsWith(Code::kInvalid));
  process->Expect({}, std::chrono::minutes(10));
  EXPECT_THAT(kube::Run(io_, process->Read()), FailsWith(Code::kDeadlineExceeded));
  process->Expect(std::chrono::minutes(10), {});
  EXPECT_THAT(kube::Run(io_, process->Read()), FailsWith(Code::kUnavailable, HasSubstr("busy")));
  EXPECT_TRUE(process->running());
  process->Expect(std::chrono::minutes(10), std::chrono::minutes(10));
  ASSERT_EQ(kill(process->pid(), SIGKILL), 0);
  EXPECT_THAT(kube::Run(io_, process->Read()), FailsWith(Code::kUnavailable, HasSubstr("137")));
}

// A pass for a large fleet keeps the event loop busy while the evaluator works.
TEST_F(EvaluatorProcessTest, ABusyLoopIsNotTheProcesssDelay) {
  auto process = Start("/bin/cat");
  std::optional<Result<std::string>> read;
  boost::asio::co_spawn(io_, process->Read(),
                        [&](std::exception_ptr, Result<std::string> frame) { read = frame; });
  kube::Drain(io_);  // it waits
  const kube::Duration before = process->waited();
  boost::asio::post(io_, [&] {
    clock_.Advance(std::chrono::minutes(5));
    kill(process->pid(), SIGKILL);
  });
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return read.has_value(); }));
  EXPECT_THAT(*read, FailsWith(Code::kUnavailable));
  EXPECT_LT(process->waited() - before, std::chrono::minutes(1));
}

kube::Duration CpuOf(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  EXPECT_EQ(clock_getcpuclockid(pid, &clock), 0);
  EXPECT_EQ(clock_gettime(clock, &used), 0);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// Else an endless expression would be endless while the loop is busy.
TEST_F(EvaluatorProcessTest, TheProcesssWorkDuringABusyLoopIsItsDelay) {
  constexpr std::chrono::milliseconds kPatience{500};
  auto process = Start("fleet/cel/evaluator/evaluator");
  std::string nested = std::string(240, '[') + std::string(240, ']');
  std::string request = CompileRequest(nested + " == " + nested);
  std::string_view frames[] = {request};
  process->Expect(kPatience, std::chrono::minutes(10));
  ASSERT_THAT(kube::Run(io_, process->Write(frames)), kube::IsOk());
  std::optional<Result<std::string>> read;
  boost::asio::co_spawn(io_, process->Read(),
                        [&](std::exception_ptr, Result<std::string> frame) { read = frame; });
  boost::asio::post(io_, [&] {
    while (CpuOf(process->pid()) < 2 * kPatience)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return read.has_value(); }));
  EXPECT_THAT(*read, FailsWith(Code::kDeadlineExceeded));
  EXPECT_LT(process->waited(), kPatience);
  EXPECT_THAT(kube::Run(io_, process->End()), kube::IsOk());
  EXPECT_GE(process->TakeCpu(), kPatience) << "known after the end";
  EXPECT_EQ(process->TakeCpu(), kube::Duration::zero());
}

TEST_F(EvaluatorProcessTest, OtherTasksRunDuringAFloodOfFrames) {
  constexpr int kFrames = 1000;
  auto process = Start("/bin/cat");
  std::vector<std::string_view> frames(kFrames + 1, "x");
  ASSERT_THAT(kube::Run(io_, process->Write(frames)), kube::IsOk());
  // All have arrived with the first.
  ASSERT_THAT(kube::Run(io_, process->Read()), kube::IsOk());
  int reads = 0;
  auto read_all = [](EvaluatorProcess& from, int& count) -> kube::Async<> {
    for (; count < kFrames; ++count) {
      Result<std::string> frame = co_await from.Read();
      if (!frame) co_return frame.error();
    }
    co_return kube::Ok();
  };
  boost::asio::co_spawn(io_, read_all(*process, reads),
                        [](std::exception_ptr, Result<> read) { EXPECT_THAT(read, kube::IsOk()); });
  int seen = -1;
  boost::asio::post(io_, [&] { seen = reads; });
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return reads == kFrames; }));
  EXPECT_GE(seen, 0);
  EXPECT_LT(seen, 20);
}

TEST_F(EvaluatorProcessTest, TheLoopGoesOnUntilTheProcessIsReaped) {
  auto process = Start("/bin/cat");
  const pid_t pid = process->pid();
  Tracer tracer(pid);
  if (!tracer.traces()) GTEST_SKIP() << "no process may be traced here";
  std::optional<Result<int>> ended;
  boost::asio::co_spawn(io_, process->End(),
                        [&](std::exception_ptr, Result<int> code) { ended = std::move(code); });
  kube::Drain(io_);
  EXPECT_FALSE(ended);
  EXPECT_FALSE(process->running());
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return ended.has_value(); }));
  EXPECT_THAT(*ended, FailsWith(Code::kDeadlineExceeded, HasSubstr("has not ended yet")));
  EXPECT_THAT(Children(), Contains(pid));

  tracer.End();
  Result<int> code = kube::Run(io_, process->End());
  ASSERT_THAT(code, kube::IsOk());
  EXPECT_EQ(*code, 128 + SIGKILL);
  EXPECT_THAT(Children(), IsEmpty());
}

TEST_F(EvaluatorProcessTest, InheritsItsStreamsOnly) {
  auto other = Start("/bin/cat");
  const int leaked = dup(STDIN_FILENO);
  ASSERT_GE(leaked, 0);
  auto process = Start("/bin/cat");
  // It runs once it answers.
  std::string_view frames[] = {"x"};
  ASSERT_THAT(kube::Run(io_, process->Write(frames)), kube::IsOk());
  ASSERT_THAT(kube::Run(io_, process->Read()), kube::IsOk());
  std::vector<std::string> files;
  for (const auto& file :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process->pid()) + "/fd"))
    files.push_back(file.path().filename());
  EXPECT_THAT(files, UnorderedElementsAre("0", "1", "2"));
  close(leaked);
}

}  // namespace
}  // namespace fleet::cel

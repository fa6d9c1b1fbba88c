// SPDX-License-Identifier: Apache-2.0
#include "kube/client/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class CommandTest : public testing::Test {
 protected:
  static Command Shell(const std::string& script) {
    return {.argv = {"sh", "-c", script}, .env = {}};
  }
  Result<std::string> RunIt(Command command) {
    return kube::Run(io_, RunCommand(std::move(command)));
  }

  asio::io_context io_{1};
};

TEST_F(CommandTest, ReturnsStandardOutput) {
  ::setenv("COMMAND_TEST_OURS", "ours", 1);
  ::setenv("COMMAND_TEST_BOTH", "ours", 1);
  Command command = Shell("echo $COMMAND_TEST_OURS $COMMAND_TEST_BOTH $COMMAND_TEST_THEIRS; cat");
  command.env = {{"COMMAND_TEST_BOTH", "theirs"}, {"COMMAND_TEST_THEIRS", "theirs"}};
  EXPECT_EQ(*RunIt(command), "ours theirs theirs\n");
}

TEST_F(CommandTest, HiddenVariablesAreNotInherited) {
  ::setenv("COMMAND_TEST_HIDDEN_A", "a", 1);
  ::setenv("COMMAND_TEST_HIDDEN_B", "b", 1);
  ::setenv("COMMAND_TEST_SHOWN", "shown", 1);
  Command command =
      Shell("echo ${COMMAND_TEST_HIDDEN_A-none} $COMMAND_TEST_HIDDEN_B $COMMAND_TEST_SHOWN");
  command.hidden_prefixes = {"COMMAND_TEST_HIDDEN_"};
  command.env = {{"COMMAND_TEST_HIDDEN_B", "added"}};
  EXPECT_EQ(*RunIt(command), "none added shown\n");
}

TEST_F(CommandTest, FailuresAreErrors) {
  EXPECT_THAT(RunIt(Shell("echo no; exit 3")),
              FailsWith(Code::kUnavailable, testing::HasSubstr("exit code 3")));
  EXPECT_THAT(RunIt(Shell("kill -9 $$")),
              FailsWith(Code::kUnavailable, testing::HasSubstr("signal 9")));
  EXPECT_THAT(RunIt({.argv = {"/no/such/command"}, .env = {}}), FailsWith(Code::kNotFound));
}

TEST_F(CommandTest, WaitsForTheExitCodeAfterTheEndOfOutput) {
  EXPECT_THAT(RunIt(Shell("exec >&-; sleep 0.05; exit 4")),
              FailsWith(Code::kUnavailable, testing::HasSubstr("exit code 4")));
}

TEST_F(CommandTest, OutputIsBounded) {
  Command command = Shell("yes");
  command.max_output = 100'000;
  EXPECT_THAT(RunIt(command), FailsWith(Code::kInvalid));
}

TEST_F(CommandTest, ATimeoutEndsTheCommandAndItsChildren) {
  for (const char* script :
       {"sleep 60 & sleep 60", "exec >&-; sleep 60", "setsid sleep 0.5 & sleep 60"}) {
    Command command = Shell(script);
    command.timeout = 50ms;
    EXPECT_THAT(RunIt(command), FailsWith(Code::kDeadlineExceeded)) << script;
  }
}

TEST_F(CommandTest, CancellationEndsTheCommand) {
  asio::cancellation_signal stop;
  std::optional<Result<std::string>> result;
  Command command = Shell("sleep 60");
  asio::co_spawn(
      io_, RunCommand(command),
      asio::bind_cancellation_slot(
          stop.slot(), [&](std::exception_ptr, Result<std::string> value) { result = value; }));
  Drain(io_);
  stop.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(RunUntil(io_, [&] { return result.has_value(); }));
  EXPECT_THAT(*result, FailsWith(Code::kCancelled));
}

}  // namespace
}  // namespace kube

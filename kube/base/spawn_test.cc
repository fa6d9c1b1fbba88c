// SPDX-License-Identifier: Apache-2.0
#include "kube/base/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "kube/testing/matchers.h"

namespace kube {
namespace {

// Runs `options` with its output in a pipe; returns the output and sets `exit_code`.
std::string Output(SpawnOptions options, int* exit_code = nullptr) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  options.output = ends[1];
  Result<pid_t> pid = Spawn(options);
  ::close(ends[1]);
  EXPECT_THAT(pid, IsOk());
  std::string output;
  char chunk[256];
  for (ssize_t size; (size = ::read(ends[0], chunk, sizeof chunk)) > 0;) output.append(chunk, size);
  ::close(ends[0]);
  int status = 0;
  if (pid) ::waitpid(*pid, &status, 0);
  if (exit_code != nullptr) *exit_code = ExitCode(status);
  return output;
}

TEST(SpawnTest, RunsAProgramOfThePath) {
  int code = -1;
  EXPECT_EQ(Output({.argv = {"sh", "-c", "echo $0 $1; exit 3", "a", "b c"}}, &code), "a b c\n");
  EXPECT_EQ(code, 3);
  Output({.argv = {"sh", "-c", "kill -9 $$"}}, &code);
  EXPECT_EQ(code, 128 + SIGKILL);
}

TEST(SpawnTest, TheEnvironmentIsInheritedOrReplaced) {
  ::setenv("SPAWN_TEST", "inherited", 1);
  SpawnOptions options{.argv = {"sh", "-c", "echo \"$SPAWN_TEST\""}};
  EXPECT_EQ(Output(options), "inherited\n");
  options.env = {"SPAWN_TEST=given"};
  EXPECT_EQ(Output(options), "given\n");
  options.env = std::vector<std::string>();
  EXPECT_EQ(Output(options), "\n");
  ::unsetenv("SPAWN_TEST");
}

TEST(SpawnTest, StreamsAreGiven) {
  int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(Output({.argv = {"cat"}, .input = input}), "");
  ::close(input);
}

TEST(SpawnTest, TheProgramGetsNoOtherDescriptor) {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  // A number that no shell uses.
  int inherited = ::fcntl(socket, F_DUPFD, 100);
  ASSERT_GE(inherited, 100);
  std::string file = "/proc/$$/fd/" + std::to_string(inherited);
  EXPECT_EQ(Output({.argv = {"sh", "-c", "test -e " + file + " && echo open || echo closed"}}),
            "closed\n");
  ::close(inherited);
  ::close(socket);
}

TEST(SpawnTest, SigpipeIsNotIgnored) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  int code = -1;
  Output({.argv = {"sh", "-c", "kill -PIPE $$"}}, &code);
  std::signal(SIGPIPE, before);
  EXPECT_EQ(code, 128 + SIGPIPE);
}

TEST(SpawnTest, ANewGroupIsLedByTheChild) {
  std::string output =
      Output({.argv = {"sh", "-c", "cut -d' ' -f5 /proc/$$/stat; echo $$"}, .new_group = true});
  EXPECT_EQ(std::stoi(output), std::stoi(output.substr(output.find('\n')))) << output;
}

TEST(SpawnTest, AMissingProgramIsAnError) {
  EXPECT_THAT(Spawn({.argv = {"/no/such/program"}}), FailsWith(Code::kNotFound));
  EXPECT_THAT(Spawn({.argv = {"no-such-program"}}), FailsWith(Code::kNotFound));
  EXPECT_THAT(Spawn({.argv = {"/dev/null"}}), FailsWith(Code::kNotFound));
}

TEST(SpawnTest, PrepareRunsInTheChildAndCanRefuse) {
  SpawnOptions options{.argv = {"sh", "-c", "umask"}};
  options.prepare = [] {
    ::umask(0077);
    return true;
  };
  EXPECT_EQ(Output(options), "0077\n");
  options.prepare = [] {
    errno = EPERM;
    return false;
  };
  EXPECT_THAT(Spawn(options), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace kube

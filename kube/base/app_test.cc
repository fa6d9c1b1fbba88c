// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "kube/testing/subprocess.h"

namespace kube {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = "kube/base/app_test_program";

TEST(AppTest, TerminationDrainsAndSucceeds) {
  for (int signal : {SIGTERM, SIGINT}) {
    Subprocess program(kProgram, {});
    ASSERT_TRUE(program.WaitForOutput("main runs")) << program.output();
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 0) << program.output();
    EXPECT_THAT(program.output(), HasSubstr("main drains"));
  }
}

TEST(AppTest, TerminationCancelsTheAwaitOfMain) {
  Subprocess program(kProgram, {"--behaviour=sleep"});
  ASSERT_TRUE(program.WaitForOutput("main runs")) << program.output();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.output();
}

TEST(AppTest, SecondSignalEndsAtOnce) {
  Subprocess program(kProgram, {"--behaviour=hang"});
  ASSERT_TRUE(program.WaitForOutput("main runs")) << program.output();
  program.Signal(SIGTERM);
  ASSERT_TRUE(program.WaitForOutput("stopping")) << program.output();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 128 + SIGTERM) << program.output();
}

TEST(AppTest, TheGracePeriodIsEnforced) {
  Subprocess program(kProgram, {"--behaviour=hang", "--shutdown-grace=1ms"});
  ASSERT_TRUE(program.WaitForOutput("main runs")) << program.output();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.output(), HasSubstr("not stopped within the grace period"));
}

// The objects that a running task uses must not be destroyed: the process ends instead.
TEST(AppTest, ATaskThatNeverEndsEndsTheProcess) {
  Subprocess program(kProgram, {"--behaviour=stubborn", "--shutdown-grace=7s"});
  ASSERT_TRUE(program.WaitForOutput("task runs")) << program.output();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 1) << program.output();
  EXPECT_THAT(program.output(), HasSubstr("tasks still running: the-task; the process ends"));
  EXPECT_THAT(program.output(), Not(HasSubstr("used object")));
}

// The cancellation leaves time for the rest of the cleanup.
TEST(AppTest, ATaskThatTakesTooLongIsCancelled) {
  Subprocess program(kProgram, {"--behaviour=slow", "--shutdown-grace=6s"});
  ASSERT_TRUE(program.WaitForOutput("task runs")) << program.output();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.output();
  EXPECT_THAT(program.output(), ContainsRegex("tasks still running: the-task; cancelling them\n"
                                              "task ends\n"
                                              "time is left\n"
                                              "used object is destroyed\n"));
}

// A task that is ready when the main function returns never resumes: its objects are destroyed.
TEST(AppTest, NothingRunsAfterMain) {
  Subprocess program(kProgram, {"--behaviour=leave"});
  EXPECT_EQ(program.Wait(), 0) << program.output();
  EXPECT_THAT(program.output(),
              AllOf(HasSubstr("used object is destroyed"), Not(HasSubstr("task runs"))));
}

TEST(AppTest, ErrorOfMainEndsTheProcess) {
  Subprocess program(kProgram, {"--behaviour=fail"});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.output(),
              HasSubstr("test-program: Unavailable: no server at example.test:443"));
}

TEST(AppTest, AnInteractiveToolLogsErrorsOnly) {
  setenv("INTERACTIVE", "1", 1);
  Subprocess program(kProgram, {"--behaviour=fail"});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_EQ(program.output(),
            "main runs\ntest-program: Unavailable: no server at example.test:443\n");
  Subprocess traced(kProgram, {"--behaviour=fail", "--log-verbosity=Debug"});
  EXPECT_EQ(traced.Wait(), 1);
  EXPECT_THAT(traced.output(), HasSubstr("test-program 1.2.3 starts"));
  unsetenv("INTERACTIVE");
}

TEST(AppTest, ExceptionOfMainIsAnError) {
  Subprocess program(kProgram, {"--behaviour=throw"});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.output(), HasSubstr("thrown by main"));
}

TEST(AppTest, UnknownFlagIsNamed) {
  Subprocess program(kProgram, {"--behavior=wait"});
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(program.output(), HasSubstr("unknown command line flag 'behavior'"));
}

TEST(AppTest, BadValueIsNamed) {
  Subprocess verbosity(kProgram, {"--log-verbosity=Loud"});
  EXPECT_EQ(verbosity.Wait(), 2);
  EXPECT_THAT(verbosity.output(),
              AllOf(HasSubstr("Loud"), HasSubstr("log_verbosity"), HasSubstr("TraceAll")));

  Subprocess grace(kProgram, {"--shutdown-grace=20"});
  EXPECT_EQ(grace.Wait(), 2);
  EXPECT_THAT(grace.output(), AllOf(HasSubstr("not a duration"), HasSubstr("shutdown_grace")));
}

TEST(AppTest, PositionalArgumentIsNamed) {
  Subprocess program(kProgram, {"--log-verbosity=Debug", "wait"});
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(program.output(), HasSubstr("unexpected argument 'wait'"));
}

TEST(AppTest, PrintsVersionAndHelp) {
  Subprocess version(kProgram, {"--version"});
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_EQ(version.output(), "test-program 1.2.3\n");

  Subprocess help(kProgram, {"--help"});
  EXPECT_EQ(help.Wait(), 0);
  EXPECT_THAT(help.output(), AllOf(HasSubstr("--behaviour"), HasSubstr("--shutdown-grace"),
                                   Not(HasSubstr("flagfile"))));
}

}  // namespace
}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/error.h"

DEFINE_string(behaviour, "wait", "wait, fail, throw, sleep (cancelled by the signal) or hang (ignores it).");

namespace {

kube::Async<> Main(kube::App& app) {
  using namespace std::chrono_literals;
  std::cout << "main runs" << std::endl;
  if (FLAGS_behaviour == "fail") co_return kube::Error::Unavailable("no server at example.test:443");
  if (FLAGS_behaviour == "throw") throw std::runtime_error("out of cheese");
  if (FLAGS_behaviour == "sleep") co_return co_await app.clock().Sleep(1h);
  while (FLAGS_behaviour == "hang") {
    kube::Result<> slept = co_await app.clock().Sleep(1h);
    (void)slept;
  }
  kube::Result<> stopped = co_await app.WaitForStop();
  std::cout << "main drains" << std::endl;
  // The signal cancelled one await; the next ones work.
  kube::Result<> slept = co_await app.clock().Sleep(1ms);
  if (!slept) co_return kube::Error::Internal("cancelled a second time");
  co_return stopped;
}

}  // namespace

int main(int argc, char** argv) {
  kube::AppOptions options{"test-program", "Waits.", "1.2.3", argc, argv};
  options.for_a_person = std::getenv("FOR_A_PERSON") != nullptr;
  return kube::RunApp(options, Main);
}

// SPDX-License-Identifier: Apache-2.0
// The libFuzzer program for fuzz_targets.h: --target=NAME selects the function.
#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "console/fuzz/console_targets.h"
#include "ephemeral-containers/fuzz/warning_targets.h"
#include "exec-format/fuzz/exec_format_targets.h"
#include "fuzz/fuzz_targets.h"
#include "image-facts/fuzz/fact_targets.h"
#include "plugin/fuzz/plugin_targets.h"
#include "scheduling-policies/fuzz/policy_targets.h"

namespace {

void (*g_run)(const std::string& input) = nullptr;

// How often each branch was executed. libFuzzer finds the counters by the name of the section,
// reads them and clears them.
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t g_reached[1 << 16];

}  // namespace

// GCC calls this at every branch under --config=fuzz; Clang would count in an array. libFuzzer's
// own definition ends the process, so the linker replaces it by this one (--wrap in
// third_party/system).
extern "C" __attribute__((no_sanitize_coverage, no_sanitize_address)) void
__wrap___sanitizer_cov_trace_pc() {
  auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++g_reached[(place ^ (place >> 16)) % sizeof(g_reached)];
}

// GCC calls these for floating point; libFuzzer does not define them.
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kFlag = "--target=";
  FLAGS_logtostderr = true;
  google::InitGoogleLogging((*argv)[0]);
  for (int i = 1; i < *argc; ++i) {
    std::string_view argument = (*argv)[i];
    if (!argument.starts_with(kFlag)) continue;
    for (const auto& targets : {
             policy::PolicyTargets(),           // scheduling-policies/
             image_facts::FactTargets(),        // image-facts/
             exec_format::ExecFormatTargets(),  // exec-format/
             ephemeral::WarningTargets(),       // ephemeral-containers/
             plugin::PluginTargets(),           // plugin/
             console::ConsoleTargets(),         // console/
             fuzz::InspectionTargets(),
             fuzz::ApiTargets(),
             fuzz::FleetTargets(),
             fuzz::CelTargets(),
         }) {
      for (const fuzz::FuzzTarget& target : targets) {
        if (target.name == argument.substr(kFlag.size())) g_run = target.run;
      }
    }
  }
  CHECK(g_run != nullptr) << "--target is not a target of fuzz_targets.h";
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  g_run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

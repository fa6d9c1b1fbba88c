// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace e2e {

// How the connections to one target of a proxy are disturbed, by direction.
struct LinkFaults {
  // What is sent is delivered so much later.
  std::chrono::milliseconds delay_to_target{0};
  std::chrono::milliseconds delay_to_client{0};
  // Nothing is delivered, and neither end is told; what was sent is delivered afterwards. One of
  // them: the connections are half-open. Both: they are cut.
  bool hold_to_target = false;
  bool hold_to_client = false;
  // New connections go to another target, or are reset if there is none.
  bool refuse = false;

  bool operator==(const LinkFaults&) const = default;
};

inline LinkFaults Latency(std::chrono::milliseconds each_way) {
  return {.delay_to_target = each_way, .delay_to_client = each_way};
}
inline LinkFaults Cut() { return {.hold_to_target = true, .hold_to_client = true}; }

}  // namespace e2e

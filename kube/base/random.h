// SPDX-License-Identifier: Apache-2.0
// RandomSeed: where all random numbers of a program begin. Nothing secret depends on them.
#pragma once

#include <cstdint>

namespace kube {

// The seed for one generator: another one with each call.
uint32_t RandomSeed();

// Seeds are taken from `source` from now on; nullptr: from the kernel again. For a simulation,
// whose runs are repeated. Not while another thread asks for a seed.
void SetSeedSource(uint32_t (*source)());

}  // namespace kube

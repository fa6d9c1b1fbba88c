// SPDX-License-Identifier: Apache-2.0
#include "kube/base/random.h"

#include <random>

namespace kube {
namespace {

uint32_t (*seed_source)() = nullptr;

}  // namespace

uint32_t RandomSeed() { return seed_source != nullptr ? seed_source() : std::random_device()(); }

void SetSeedSource(uint32_t (*source)()) { seed_source = source; }

}  // namespace kube

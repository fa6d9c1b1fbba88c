// SPDX-License-Identifier: Apache-2.0
// Quantities of resources: "3500m" cores, "16Gi" bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kube {

// The number that a Kubernetes quantity stands for: a decimal number with a suffix (n u m k M G T P
// E, Ki Mi Gi Ti Pi Ei) or an exponent (e3, E-3). As in Kubernetes, the greatest magnitude is
// 2^63-1. nullopt for any other text, and for more than 64 characters. Never NaN or infinite.
std::optional<double> ParseQuantity(std::string_view text);

// An amount of CPU or memory as the API server stores it: "1" for "1000m", "1Gi" for "1024Mi".
// Rounds to a thousandth of a CPU or a byte; "0" for a text that is no quantity.
std::string CanonicalCpu(std::string_view text);
std::string CanonicalMemory(std::string_view text);

}  // namespace kube

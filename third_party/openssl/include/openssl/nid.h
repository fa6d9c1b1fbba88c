// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/obj_mac.h>

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/base.h>
#include <openssl/ec.h>

// SPDX-License-Identifier: Apache-2.0
// The same for tests, with GoogleTest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "third_party/precompiled/library_headers.h"

#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#endif

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The corpus, and a moment of damage for each target.
exec inspection/fuzz/fuzz --seconds=0.5

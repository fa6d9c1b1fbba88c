// SPDX-License-Identifier: Apache-2.0
// When to ask next.

export const LONGEST_WAIT_SECONDS = 60;

// `every`: seconds between two answers. Doubles with each failure in a row.
export function waitSeconds(every: number, failures: number): number {
  if (failures === 0) return every;
  const longest = Math.max(LONGEST_WAIT_SECONDS, every);
  return Math.min(longest, every * 2 ** Math.min(failures, 16));
}

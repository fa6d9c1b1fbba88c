// SPDX-License-Identifier: Apache-2.0
// Ages for people: "12 s", "3 m", "2 h", "5 d". The same limits as plugin/text/age.h.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function describeSeconds(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  if (age < 2 * MINUTE) return `${age} s`;
  if (age < 2 * HOUR) return `${Math.floor(age / MINUTE)} m`;
  if (age < 2 * DAY) return `${Math.floor(age / HOUR)} h`;
  return `${Math.floor(age / DAY)} d`;
}

// The age at `now`, in milliseconds since 1970, of an RFC 3339 time.
export function describeAge(time: string, now: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? "not known" : describeSeconds((now - at) / 1000);
}

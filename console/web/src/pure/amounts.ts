// SPDX-License-Identifier: Apache-2.0
// Counts, CPUs and sizes for people. The language is fixed: the page is in English.

const GIB = 1024 ** 3;
const counts = new Intl.NumberFormat("en-US");

function rounded(value: number): string {
  if (value === 0) return "0";
  if (value < 0.01) return "<0.01";
  return value < 10 ? String(Math.round(value * 100) / 100) : counts.format(Math.round(value));
}

export function describeCount(count: number): string {
  return counts.format(count);
}

// "1 pod", "1,200 pods"
export function describeNumber(count: number, one: string, many = `${one}s`): string {
  return `${describeCount(count)} ${count === 1 ? one : many}`;
}

export function describeCpu(cpu: number | undefined): string {
  return cpu === undefined ? "not known" : rounded(cpu);
}

// Without the unit, for columns that name it.
export function describeGib(bytes: number | undefined): string {
  return bytes === undefined ? "not known" : rounded(bytes / GIB);
}

// The share of `all` that `part` is, from 0 to 1; undefined if there is no such share.
export function shareOf(part: number | undefined, all: number | undefined): number | undefined {
  if (part === undefined || all === undefined || all <= 0) return undefined;
  return Math.min(1, Math.max(0, part / all));
}

export function describeShare(share: number | undefined): string {
  return share === undefined ? "not known" : `${Math.round(share * 100)} %`;
}

// SPDX-License-Identifier: Apache-2.0
// JSON values as YAML in block style, for people to read and for kubectl.

export type Value =
  string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

// What YAML 1.1 reads as another type, beside numbers.
const RESERVED = /^(true|false|yes|no|on|off|null|y|n)$/i;
const PLAIN = /^[A-Za-z][-A-Za-z0-9_./]*$/;

// A double-quoted YAML string may be written as in JSON.
function scalar(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !RESERVED.test(value) ? value : JSON.stringify(value);
}

function isScalar(value: Value): value is string | number | boolean {
  return typeof value !== "object";
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function isEmpty(value: Value): boolean {
  return !isScalar(value) && Object.keys(value).length === 0;
}

function inline(value: Value): string {
  if (isScalar(value)) return scalar(value);
  return isList(value) ? "[]" : "{}";
}

function lines(value: Value): string[] {
  if (isScalar(value) || isEmpty(value)) return [inline(value)];
  if (isList(value)) {
    return value.flatMap((item) => {
      const [first = "", ...rest] = lines(item);
      return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
    });
  }
  return Object.entries(value).flatMap(([key, item]) => {
    if (isScalar(item) || isEmpty(item)) return [`${scalar(key)}: ${inline(item)}`];
    const indent = isList(item) ? "" : "  ";
    return [`${scalar(key)}:`, ...lines(item).map((line) => indent + line)];
  });
}

export function toYaml(value: Value): string {
  return `${lines(value).join("\n")}\n`;
}

// SPDX-License-Identifier: Apache-2.0
// Label selectors as kubectl has them: "app=web,tier in (a,b),!old". Read for a form, so each error
// says what is wrong where.

export interface Requirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values: string[];
}

export interface Selector {
  matchLabels: Record<string, string>;
  matchExpressions: Requirement[];
}

export type Parsed = { selector: Selector } | { error: string };

class Problem extends Error {}

// Splits at the commas that are not in parentheses.
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")") depth--;
    if (depth < 0) throw new Problem("a ) has no (");
    if (text[at] === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  if (depth > 0) throw new Problem("a ( has no )");
  parts.push(text.slice(from));
  return parts.map((part) => part.trim());
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text);
}

function checkedKey(text: string): string {
  const slash = text.indexOf("/");
  const name = text.slice(slash + 1);
  const isKey = NAME.test(name) && (slash < 0 || isSubdomain(text.slice(0, slash)));
  if (!isKey) throw new Problem(`"${text}" is not the key of a label`);
  return text;
}

function checkedValue(text: string): string {
  if (text !== "" && !NAME.test(text)) throw new Problem(`"${text}" is not the value of a label`);
  return text;
}

function requirementOf(part: string): Requirement {
  if (part === "") throw new Problem("there is nothing before or after a comma");
  const set = /^(\S+)\s+(in|notin)\s*\((.*)\)$/.exec(part);
  if (set !== null) {
    const values = (set[3] ?? "").split(",").map((value) => checkedValue(value.trim()));
    if (values.length === 1 && values[0] === "") throw new Problem(`"${part}" has no value`);
    return {
      key: checkedKey(set[1] ?? ""),
      operator: set[2] === "in" ? "In" : "NotIn",
      values: [...new Set(values)],
    };
  }
  const equal = /^([^=!]*?)\s*(==|!=|=)\s*(.*)$/.exec(part);
  if (equal !== null) {
    return {
      key: checkedKey(equal[1] ?? ""),
      operator: equal[2] === "!=" ? "NotIn" : "In",
      values: [checkedValue(equal[3] ?? "")],
    };
  }
  if (/[<>]/.test(part)) throw new Problem(`"${part}": pods are not selected by < or >`);
  if (part.startsWith("!"))
    return { key: checkedKey(part.slice(1).trim()), operator: "DoesNotExist", values: [] };
  if (/[\s(]/.test(part))
    throw new Problem(`"${part}" is not like key=value, key in (a,b), key or !key`);
  return { key: checkedKey(part), operator: "Exists", values: [] };
}

export function parseSelector(text: string): Parsed {
  const selector: Selector = { matchLabels: {}, matchExpressions: [] };
  if (text.trim() === "") return { selector };
  try {
    for (const part of partsOf(text)) {
      const one = requirementOf(part);
      const value = one.values[0];
      const isLabel = one.operator === "In" && one.values.length === 1 && part.includes("=");
      // A second value of the same key is a requirement of its own, which nothing meets.
      if (isLabel && value !== undefined && !Object.hasOwn(selector.matchLabels, one.key)) {
        selector.matchLabels[one.key] = value;
      } else {
        selector.matchExpressions.push(one);
      }
    }
  } catch (problem) {
    if (problem instanceof Problem) return { error: problem.message };
    throw problem;
  }
  return { selector };
}

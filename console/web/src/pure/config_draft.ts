// SPDX-License-Identifier: Apache-2.0
// A PodPlacementConfig that somebody writes in a form: texts as typed, what is wrong with them, and
// the object. The limits are those of api/crds/podplacementconfigs.yaml.

import { isSubdomain, parseSelector } from "./selector";
import type { Requirement } from "./selector";
import type { Value } from "./yaml";

export interface Weight {
  architecture: string;
  weight: string;
}

export interface Draft {
  name: string;
  selector: string;
  priority: string;
  weights: Weight[];
}

export interface DraftErrors {
  name?: string;
  namespace?: string;
  selector?: string;
  priority?: string;
  weights?: string;
}

export const EMPTY_DRAFT: Draft = {
  name: "prefer-arm64",
  selector: "",
  priority: "0",
  weights: [{ architecture: "arm64", weight: "75" }],
};

export const MOST_WEIGHTS = 16;

function isWholeNumber(text: string, low: number, high: number): boolean {
  return /^[0-9]{1,3}$/.test(text) && Number(text) >= low && Number(text) <= high;
}

function problemOfWeights(weights: readonly Weight[]): string | undefined {
  if (weights.length === 0) return "A config needs at least one architecture.";
  const seen = new Set<string>();
  for (const { architecture, weight } of weights) {
    if (!/^[a-z0-9]{1,32}$/.test(architecture))
      return `"${architecture}" is not the name of an architecture, such as arm64.`;
    if (architecture === "unknown" || architecture === "operand")
      return `"${architecture}" is not the name of an architecture.`;
    if (seen.has(architecture)) return `${architecture} is listed twice.`;
    seen.add(architecture);
    if (!isWholeNumber(weight, 1, 100))
      return `The weight of ${architecture} is a whole number from 1 to 100.`;
  }
  return undefined;
}

export function problemsOf(draft: Draft, namespace: string): DraftErrors {
  const errors: DraftErrors = {};
  if (!isSubdomain(draft.name))
    errors.name =
      "A name has lower-case letters, digits, - and ., and a letter or digit at both ends.";
  if (namespace === "") errors.namespace = "Type the namespace that the config is for.";
  else if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    errors.namespace = `"${namespace}" is not the name of a namespace.`;
  const parsed = parseSelector(draft.selector);
  if ("error" in parsed) errors.selector = `${parsed.error}.`;
  if (!isWholeNumber(draft.priority, 0, 255))
    errors.priority = "The priority is a whole number from 0 to 255.";
  const weights = problemOfWeights(draft.weights);
  if (weights !== undefined) errors.weights = weights;
  return errors;
}

function expressionOf(one: Requirement): Value {
  const expression = { key: one.key, operator: one.operator };
  return one.values.length === 0 ? expression : { ...expression, values: one.values };
}

function selectorOf(text: string): { [key: string]: Value } {
  const parsed = parseSelector(text);
  if ("error" in parsed) return {};
  const { matchLabels, matchExpressions } = parsed.selector;
  const selector: { [key: string]: Value } = {};
  if (Object.keys(matchLabels).length > 0) selector["matchLabels"] = matchLabels;
  if (matchExpressions.length > 0)
    selector["matchExpressions"] = matchExpressions.map(expressionOf);
  return selector;
}

// The object, of a draft without errors.
export function configOf(draft: Draft, namespace: string): Value {
  const selector = selectorOf(draft.selector);
  return {
    apiVersion: "multiarch.openshift.io/v1beta1",
    kind: "PodPlacementConfig",
    metadata: { name: draft.name, namespace },
    spec: {
      ...(Object.keys(selector).length > 0 ? { labelSelector: selector } : {}),
      priority: Number(draft.priority),
      plugins: {
        nodeAffinityScoring: {
          enabled: true,
          platforms: draft.weights.map(({ architecture, weight }) => ({
            architecture,
            weight: Number(weight),
          })),
        },
      },
    },
  };
}

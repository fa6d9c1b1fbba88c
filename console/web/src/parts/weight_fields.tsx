// SPDX-License-Identifier: Apache-2.0
// The architectures of a config, with their weights.

import { useId } from "preact/hooks";
import { MOST_WEIGHTS } from "../pure/config_draft";
import type { Weight } from "../pure/config_draft";
import { ARCHITECTURES } from "./architecture_field";

interface WeightFieldsProps {
  weights: readonly Weight[];
  error: string | undefined;
  onWeights(weights: Weight[]): void;
}

export function WeightFields({ weights, error, onWeights }: WeightFieldsProps) {
  const id = useId();
  const replace = (index: number, part: Partial<Weight>) =>
    onWeights(weights.map((one, at) => (at === index ? { ...one, ...part } : one)));
  const add = () => {
    const unused = ARCHITECTURES.find((name) => weights.every((one) => one.architecture !== name));
    onWeights([...weights, { architecture: unused ?? "", weight: "50" }]);
  };
  return (
    <fieldset aria-describedby={`${id}-hint${error === undefined ? "" : ` ${id}-error`}`}>
      <legend>Preferences</legend>
      <p id={`${id}-hint`} class="hint">
        Weights from 1 to 100: the scheduler adds them to the scores of nodes.
      </p>
      {weights.map((one, index) => (
        <div class="weight" key={index}>
          <input
            aria-label={`Architecture ${index + 1}`}
            value={one.architecture}
            list={`${id}-architectures`}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => replace(index, { architecture: event.currentTarget.value.trim() })}
          />
          <input
            class="number"
            aria-label={`Weight of ${one.architecture || `architecture ${index + 1}`}`}
            value={one.weight}
            inputMode="numeric"
            autocomplete="off"
            onInput={(event) => replace(index, { weight: event.currentTarget.value.trim() })}
          />
          <button
            type="button"
            class="button"
            aria-label={`Remove ${one.architecture || `architecture ${index + 1}`}`}
            onClick={() => onWeights(weights.filter((_, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <datalist id={`${id}-architectures`}>
        {ARCHITECTURES.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
      {weights.length < MOST_WEIGHTS && (
        <button type="button" class="button" onClick={add}>
          Add an architecture
        </button>
      )}
    </fieldset>
  );
}

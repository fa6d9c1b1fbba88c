// SPDX-License-Identifier: Apache-2.0
// A form for a PodPlacementConfig: shows its YAML, and which workloads it would select. It
// writes nothing.

import { useEffect, useState } from "preact/hooks";
import { useNamespace } from "../hooks/use_namespace";
import { changeQuery } from "../hooks/use_route";
import { useSession } from "../hooks/session";
import { CopyableText } from "../parts/copyable_text";
import { TextField } from "../parts/field";
import { PAGE_TITLE_ID, PageHead } from "../parts/page_head";
import { SimulationResult } from "../parts/simulation_result";
import { WeightFields } from "../parts/weight_fields";
import { EMPTY_DRAFT, configOf, problemsOf } from "../pure/config_draft";
import type { Draft } from "../pure/config_draft";
import { toYaml } from "../pure/yaml";

// Outlives the page: a token may expire while somebody writes.
let keptDraft: Draft = EMPTY_DRAFT;

export function NewConfig({ onClose }: { onClose(): void }) {
  const { namespace } = useNamespace();
  const { session } = useSession();
  const [draft, setDraft] = useState(keptDraft);
  const change = (part: Partial<Draft>) => {
    keptDraft = { ...draft, ...part };
    setDraft(keptDraft);
  };
  useEffect(() => document.getElementById(PAGE_TITLE_ID)?.focus(), []);

  const problems = problemsOf(draft, namespace);
  const isValid = Object.keys(problems).length === 0;
  const yaml = isValid ? toYaml(configOf(draft, namespace)) : undefined;
  return (
    <div class="page">
      <PageHead
        title="New config"
        about="Shows the YAML of a config, and which workloads it would select."
      >
        <button type="button" class="button" onClick={onClose}>
          Back to the configs
        </button>
      </PageHead>
      <div class="two-columns">
        <form class="card form" onSubmit={(event) => event.preventDefault()}>
          <h2>Config</h2>
          <TextField
            label="Name"
            value={draft.name}
            error={problems.name}
            onValue={(name) => change({ name })}
          />
          <TextField
            label="Namespace of the config"
            value={namespace}
            options={session.namespaces}
            error={problems.namespace}
            isLate
            onValue={(value) => changeQuery({ namespace: value })}
          />
          <TextField
            label="Selector"
            value={draft.selector}
            hint="As in kubectl: app=web,tier in (a,b),!old. Empty selects all pods."
            error={problems.selector}
            onValue={(selector) => change({ selector })}
          />
          <TextField
            label="Priority"
            class="field-short"
            value={draft.priority}
            hint="From 0 to 255, another one for each config of a namespace; the highest is first."
            error={problems.priority}
            onValue={(priority) => change({ priority })}
          />
          <WeightFields
            weights={draft.weights}
            error={problems.weights}
            onWeights={(weights) => change({ weights })}
          />
        </form>
        <div>
          <section class="card" aria-labelledby="yaml-title">
            <h2 id="yaml-title">YAML</h2>
            {yaml === undefined ? (
              <p class="muted">The YAML appears when every field is right.</p>
            ) : (
              <>
                <CopyableText label="YAML of the config" text={yaml} />
                <p>
                  The console changes nothing. Save this as <code>config.yaml</code> and run{" "}
                  <code>kubectl apply -f config.yaml</code>.
                </p>
              </>
            )}
          </section>
          <SimulationResult namespace={namespace} yaml={yaml} />
        </div>
      </div>
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
// The overview: what runs where, and how the operator is.

import type { Report, Status } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { useNamespace } from "../hooks/use_namespace";
import { changeQuery, useRoute } from "../hooks/use_route";
import { Answered, Freshness } from "../parts/answered";
import { ArchitectureCards } from "../parts/architecture_cards";
import { ArchitectureField } from "../parts/architecture_field";
import { FateMap } from "../parts/fate_map";
import { OperatorState } from "../parts/operator_state";
import { AskNamespace, PageHead } from "../parts/page_head";

const EVERY_SECONDS = 30;

export function OverviewPage() {
  const { query } = useRoute();
  const { namespace, isMissing } = useNamespace();
  const architecture = query["architecture"] || "arm64";
  const ask = (path: string, more = {}) =>
    isMissing ? undefined : addressOf(path, { namespace, ...more });
  const status = useAnswer<Status>(ask("status"), { every: EVERY_SECONDS });
  const report = useAnswer<Report>(ask("report", { architecture, only: "sums" }), { every: EVERY_SECONDS });
  const where = namespace === "" ? "all namespaces" : `the namespace ${namespace}`;
  return (
    <div class="page">
      <PageHead title="Overview" about={`What runs where, and how the operator is: ${where}.`}>
        {!isMissing && (
          <Freshness
            live={{
              ...status,
              refresh: () => {
                status.refresh();
                report.refresh();
              },
            }}
          />
        )}
      </PageHead>
      {isMissing ? (
        <AskNamespace />
      ) : (
        <>
          <Answered live={report}>
            {(data) => (
              <>
                <ArchitectureCards lines={data.architectures} />
                <section class="card" aria-labelledby="map-title">
                  <div class="card-head">
                    <h2 id="map-title">What could run on {data.architecture}</h2>
                    <ArchitectureField
                      value={architecture}
                      onValue={(value) => changeQuery({ architecture: value })}
                    />
                  </div>
                  <FateMap architecture={data.architecture} fates={data.fates} />
                </section>
              </>
            )}
          </Answered>
          <Answered live={status}>{(data) => <OperatorState status={data} />}</Answered>
        </>
      )}
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
// The report: what could run on an architecture, and what keeps the rest from it.

import type { Report } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { useNamespace } from "../hooks/use_namespace";
import { changeQuery, useRoute } from "../hooks/use_route";
import { Answered, Freshness } from "../parts/answered";
import { ArchitectureField } from "../parts/architecture_field";
import { TextField } from "../parts/field";
import { AskNamespace, PageHead } from "../parts/page_head";
import { WorkloadList } from "../parts/workload_list";

function Question() {
  const { query } = useRoute();
  return (
    <div class="filters">
      <ArchitectureField
        value={query["architecture"] || "arm64"}
        onValue={(architecture) => changeQuery({ architecture })}
      />
      <TextField
        label="Selector of pods"
        value={query["selector"] ?? ""}
        placeholder="app=web"
        isLate
        onValue={(selector) => changeQuery({ selector })}
      />
      <TextField
        label="Owner label"
        value={query["owner"] ?? ""}
        placeholder="team"
        isLate
        onValue={(owner) => changeQuery({ owner })}
      />
    </div>
  );
}

export function WorkloadsPage() {
  const { query } = useRoute();
  const { namespace, isMissing } = useNamespace();
  const { architecture = "", selector = "", owner = "" } = query;
  const live = useAnswer<Report>(
    isMissing
      ? undefined
      : addressOf("report", {
          namespace,
          architecture: architecture || "arm64",
          selector,
          owner,
        }),
  );
  return (
    <div class="page">
      <PageHead
        title="Workloads"
        about="What could run on an architecture, and what keeps the rest from it."
      >
        {!isMissing && <Freshness live={live} />}
      </PageHead>
      {isMissing ? (
        <AskNamespace />
      ) : (
        <>
          <Question />
          <Answered live={live}>{(data) => <WorkloadList report={data} />}</Answered>
        </>
      )}
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
// What the cluster knows of images.

import type { Image, ImageFinding, Images } from "../api/answers";
import { addressOf, serverNow } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { changeQuery, useRoute } from "../hooks/use_route";
import { useSettled } from "../hooks/use_settled";
import { Answered, Freshness } from "../parts/answered";
import { Badge, Chips } from "../parts/badge";
import type { Column } from "../parts/column";
import { DataTable } from "../parts/data_table";
import { TextField } from "../parts/field";
import { PageHead } from "../parts/page_head";
import { describeAge } from "../pure/age";
import { describeCount, describeNumber } from "../pure/amounts";

const SETTLED_MILLISECONDS = 300;

function Platforms({ image }: { image: Image }) {
  if (image.platforms.includes("*")) return <Badge tone="plain">artifact: never runs</Badge>;
  if (image.platforms.length === 0) return <span class="muted">not known</span>;
  return <Chips names={image.platforms} />;
}

const NAME_COLUMN: Column<{ image: string; digest: string }> = {
  id: "image",
  title: "Image",
  text: (one) => one.image,
  render: (one) => (
    <>
      <span class="image-name">{one.image}</span>
      <span class="digest muted" title={one.digest}>
        {one.digest}
      </span>
    </>
  ),
};

const COLUMNS: Column<Image>[] = [
  NAME_COLUMN,
  {
    id: "platforms",
    title: "Platforms",
    text: (one) => one.platforms.join(", "),
    render: (one) => <Platforms image={one} />,
  },
  {
    id: "read",
    title: "Read",
    text: (one) => one.read,
    render: (one) => (
      <time dateTime={one.read} title={one.read} class="nowrap">
        {describeAge(one.read, serverNow())} ago
      </time>
    ),
  },
  {
    id: "scope",
    title: "Scope",
    text: (one) => one.scope,
    render: (one) => <span class="scope">{one.scope || "every pod"}</span>,
  },
];

const FINDING_COLUMNS: Column<ImageFinding>[] = [
  NAME_COLUMN,
  {
    id: "architecture",
    title: "Not on",
    text: (one) => one.architecture,
    render: (one) => <Chips names={[one.architecture]} />,
  },
  {
    id: "evidence",
    title: "Evidence",
    text: (one) => one.evidence,
    render: (one) => (
      <>
        {one.evidence} {one.ignored && <Badge tone="plain">ignored</Badge>}
      </>
    ),
  },
  {
    id: "namespace",
    title: "For",
    text: (one) => one.namespace,
    render: (one) => <span class="scope">{one.namespace || "every pod"}</span>,
  },
];

// Most clusters have none.
function Findings({ findings }: { findings: ImageFinding[] }) {
  if (findings.length === 0) return null;
  return (
    <section>
      <h2>Not where their index says</h2>
      <DataTable
        label="Image findings"
        columns={FINDING_COLUMNS}
        rows={findings}
        rowKey={(one) => `${one.digest} ${one.architecture} ${one.namespace}`}
        empty=""
      />
    </section>
  );
}

export function ImagesPage() {
  const search = useRoute().query["search"] ?? "";
  const settled = useSettled(search.trim(), SETTLED_MILLISECONDS);
  const live = useAnswer<Images>(addressOf("images", { search: settled }));
  return (
    <div class="page">
      <PageHead title="Images" about="What registries have said about images.">
        <Freshness live={live} />
      </PageHead>
      <div class="filters">
        <TextField
          label="Find"
          type="search"
          value={search}
          placeholder="part of a name"
          onValue={(value) => changeQuery({ search: value })}
        />
        {live.data !== undefined && (
          <p class="filter-result muted">
            {live.data.images.length < live.data.total
              ? `the first ${describeCount(live.data.images.length)} of `
              : ""}
            {describeNumber(live.data.total, "image")}
          </p>
        )}
      </div>
      <Answered live={live}>
        {(data) => (
          <>
            <Findings findings={data.findings} />
            <DataTable
              label="Images"
              columns={COLUMNS}
              rows={data.images}
              rowKey={(one) => `${one.image} ${one.digest} ${one.scope}`}
              empty={settled === "" ? "No image is known." : "No known image matches."}
            />
          </>
        )}
      </Answered>
    </div>
  );
}

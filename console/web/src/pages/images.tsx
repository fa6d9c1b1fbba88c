// SPDX-License-Identifier: Apache-2.0
// What the cluster knows of images.

import type { Image, Images } from "../api/answers";
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

const COLUMNS: Column<Image>[] = [
  {
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
  },
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
          <DataTable
            label="Images"
            columns={COLUMNS}
            rows={data.images}
            rowKey={(one) => `${one.image} ${one.digest} ${one.scope}`}
            empty={settled === "" ? "No image is known." : "No known image matches."}
          />
        )}
      </Answered>
    </div>
  );
}

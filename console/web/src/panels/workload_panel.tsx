// SPDX-License-Identifier: Apache-2.0
// A workload: what keeps it from an architecture, and how its pods are.

import type { WhyPod, WhyWorkload, Workload } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { Answered, Freshness } from "../parts/answered";
import { Badge, Chips } from "../parts/badge";
import { CauseBox } from "../parts/cause_box";
import { Fact, Facts } from "../parts/facts";
import { lookOf } from "../parts/fates";
import { PodAnswer } from "../parts/pod_answer";
import { SidePanel } from "../parts/side_panel";
import { describeCpu, describeGib, describeNumber } from "../pure/amounts";
import { describeRunsOn, keyOfWorkload, whyKindOf } from "../pure/workloads";

interface WorkloadPanelProps {
  workload: Workload;
  architecture: string;
  onClose(): void;
}

export function WorkloadPanel({ workload, architecture, onClose }: WorkloadPanelProps) {
  const { namespace, name } = workload;
  const kind = whyKindOf(workload.kind);
  return (
    <SidePanel
      subject={keyOfWorkload(workload)}
      kind={`${workload.kind} in ${namespace}`}
      title={name}
      onClose={onClose}
    >
      <Facts>
        <Fact name={`On ${architecture}`}>
          <Badge tone={lookOf(workload.fate).tone}>{workload.fate}</Badge>
        </Fact>
        <Fact name="Runs on">{describeRunsOn(workload) || "not known"}</Fact>
        <Fact name="Images are for">
          {workload.imagesAreFor.length === 0 ? (
            "not known"
          ) : (
            <Chips names={workload.imagesAreFor} />
          )}
        </Fact>
        <Fact name="Requests">
          {`${describeCpu(workload.requests.cpu)} CPUs, `}
          {`${describeGib(workload.requests.memoryBytes)} GiB`}
        </Fact>
        {workload.owner !== "" && <Fact name="Owner">{workload.owner}</Fact>}
      </Facts>
      {workload.images.length > 0 && (
        <HeldBackImages workload={workload} architecture={architecture} />
      )}
      {kind === "pod" && <WhyOfPod namespace={namespace} name={name} />}
      {kind !== undefined && kind !== "pod" && (
        <WhyOfWorkload address={addressOf("why/workload", { kind, namespace, name })} />
      )}
    </SidePanel>
  );
}

type HeldBackProps = Pick<WorkloadPanelProps, "workload" | "architecture">;

function HeldBackImages({ workload, architecture }: HeldBackProps) {
  const isUnknown = workload.images.every((image) => image.platforms === "");
  return (
    <section class="part">
      <h3>{isUnknown ? "Images that are not known" : `Images that are not for ${architecture}`}</h3>
      <ul class="lines">
        {workload.images.map((image) => (
          <li key={image.image}>
            <code>{image.image}</code>
            <span>{image.platforms === "" ? "not known" : `is for ${image.platforms}`}</span>
            {image.newer !== "" && (
              <span class="muted">
                {image.newer} has {architecture}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function WhyOfPod({ namespace, name }: { namespace: string; name: string }) {
  const live = useAnswer<WhyPod>(addressOf("why/pod", { namespace, name }));
  return (
    <>
      <Freshness live={live} />
      <Answered live={live}>{(data) => <PodAnswer data={data} />}</Answered>
    </>
  );
}

const PODS_SHOWN = 20;

function podsText(pods: string[]): string {
  const shown = pods.slice(0, PODS_SHOWN).join(", ");
  return pods.length > PODS_SHOWN ? `${shown} and ${pods.length - PODS_SHOWN} more` : shown;
}

function WhyOfWorkload({ address }: { address: string }) {
  const live = useAnswer<WhyWorkload>(address);
  return (
    <section class="part">
      <h3>Pods now</h3>
      <Freshness live={live} />
      <Answered live={live}>
        {(data) => (
          <>
            <p>
              {data.wanted === undefined
                ? describeNumber(data.pods, "pod")
                : `${data.pods} of ${describeNumber(data.wanted, "pod")}`}
              , of which {data.running} run.
            </p>
            {data.creation !== undefined && (
              <>
                <h4>Missing pods</h4>
                <CauseBox cause={data.creation} />
              </>
            )}
            {data.groups.map((group) => (
              <div key={group.cause?.name ?? ""}>
                <h4>{describeNumber(group.pods.length, "pod")}</h4>
                <p class="muted">{podsText(group.pods)}</p>
                {group.cause === undefined ? (
                  <p>Nothing is wrong that could be seen.</p>
                ) : (
                  <CauseBox cause={group.cause} />
                )}
              </div>
            ))}
          </>
        )}
      </Answered>
    </section>
  );
}

// SPDX-License-Identifier: Apache-2.0
// Why a pod waits or does not run, while it is open.

import type { WhyPod } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { Answered, Freshness } from "../parts/answered";
import { PodAnswer } from "../parts/pod_answer";
import { SidePanel } from "../parts/side_panel";

const EVERY_SECONDS = 5;

interface PodPanelProps {
  pod: string; // NAMESPACE/NAME
  onClose(): void;
}

export function PodPanel({ pod, onClose }: PodPanelProps) {
  const [namespace = "", name = ""] = pod.split("/");
  const live = useAnswer<WhyPod>(addressOf("why/pod", { namespace, name }), {
    every: EVERY_SECONDS,
  });
  return (
    <SidePanel subject={pod} kind={`Pod in ${namespace}`} title={name} onClose={onClose}>
      <Freshness live={live} />
      <Answered live={live}>{(data) => <PodAnswer data={data} />}</Answered>
    </SidePanel>
  );
}

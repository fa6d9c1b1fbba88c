// SPDX-License-Identifier: Apache-2.0
// Horizontal bars with names, by uPlot. The same numbers must be in a table beside it: the chart is
// one image for screen readers.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface ChartBar {
  name: string;
  value: number;
  colour: string; // a variable of app.css
}

interface BarChartProps {
  label: string;
  bars: ChartBar[];
}

const BAR_HEIGHT = 34;
const AXIS_HEIGHT = 30;
const NAMES_WIDTH = 118;

// uPlot draws on a canvas, which does not know variables.
function colour(element: Element, variable: string): string {
  return getComputedStyle(element).getPropertyValue(variable).trim();
}

function draw(element: HTMLElement, bars: ChartBar[]): uPlot {
  const style = getComputedStyle(element);
  const font = `12px ${style.fontFamily}`;
  const text = colour(element, "--text");
  const colours = bars.map((bar) => colour(element, bar.colour));
  const fill = { unit: 3, values: () => colours } as uPlot.Series.BarsPathBuilderFacet;
  const paths = uPlot.paths.bars?.({ size: [0.62, 22], disp: { fill } });
  const highest = Math.max(1, ...bars.map((bar) => bar.value));
  const counts = (plot: uPlot) => {
    const { ctx } = plot;
    ctx.save();
    ctx.font = `${12 * devicePixelRatio}px ${style.fontFamily}`;
    ctx.fillStyle = text;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    bars.forEach((bar, index) => {
      const x = plot.valToPos(bar.value, "y", true) + 6 * devicePixelRatio;
      ctx.fillText(bar.value.toLocaleString("en-US"), x, plot.valToPos(index, "x", true));
    });
    ctx.restore();
  };
  const options: uPlot.Options = {
    width: Math.max(200, element.clientWidth),
    height: bars.length * BAR_HEIGHT + AXIS_HEIGHT,
    padding: [0, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, ori: 1, dir: -1, range: [-0.5, bars.length - 0.5] },
      // Space for the number behind the longest bar.
      y: { ori: 0, dir: 1, range: [0, highest * 1.18] },
    },
    axes: [
      {
        side: 3,
        splits: () => bars.map((_, index) => index),
        values: () => bars.map((bar) => bar.name),
        size: NAMES_WIDTH,
        gap: 8,
        font,
        stroke: text,
        grid: { show: false },
        ticks: { show: false },
      },
      {
        side: 2,
        size: AXIS_HEIGHT,
        space: 60,
        font,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000],
        stroke: colour(element, "--muted"),
        grid: { stroke: colour(element, "--line"), width: 1 },
        ticks: { show: false },
      },
    ],
    series: [
      {},
      {
        width: 0,
        fill: colours[0] ?? text,
        points: { show: false },
        ...(paths === undefined ? {} : { paths }),
      },
    ],
    hooks: { draw: [counts] },
  };
  const data: uPlot.AlignedData = [bars.map((_, index) => index), bars.map((bar) => bar.value)];
  return new uPlot(options, data, element);
}

export function BarChart({ label, bars }: BarChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const text = JSON.stringify(bars);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    let plot = draw(element, bars);
    let width = element.clientWidth;
    const again = () => {
      plot.destroy();
      plot = draw(element, bars);
    };
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== width) again();
      width = element.clientWidth;
    });
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", again);
      plot.destroy();
    };
  }, [text]);
  return <div ref={holder} class="chart" role="img" aria-label={label} />;
}

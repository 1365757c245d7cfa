/** Pictures: a run over time, and every policy's misses against its cost. */
import type { Result } from "./measure.ts";
import { ours } from "./compared.ts";
import { hullOf } from "./equal-cost.ts";
import type { Outcome, Sample } from "./simulate.ts";

const [width, height] = [900, 260];
const frame = { left: 60, right: 880, top: 30, bottom: 230 };
const colours = ["#999999", "#3366cc", "#66aadd", "#dd8800", "#bb44bb", "#77aa33", "#338855", "#885533", "#dd2222", "#000000"];

type Scale = (value: number) => number;

/** Pods in all, those in use, and each stretch in which requests found no idle pod. */
export function pictureOfRun(title: string, { line }: Outcome): string {
  const most = Math.max(1, ...line.map(({ pods }) => pods));
  const x = linear(line.at(-1)?.atMs ?? 1, frame.left, frame.right);
  const y = linear(most, frame.bottom, frame.top);
  const path = (of: (sample: Sample) => number): string => line.map((sample) => `${dot(x(sample.atMs))},${dot(y(of(sample)))}`).join(" ");
  const missed = line.filter((sample, index) => sample.misses > (line[index - 1]?.misses ?? 0));
  return svg(`${title}: pods (blue, at most ${most}), those in use (grey), misses (red marks)`, [
    `<polyline fill="none" stroke="#3366cc" points="${path(({ pods }) => pods)}"/>`,
    `<polyline fill="none" stroke="#999999" points="${path(({ claimed }) => claimed)}"/>`,
    ...missed.map(({ atMs }) => `<path stroke="#dd2222" d="M${dot(x(atMs))} ${frame.bottom + 4}v8"/>`),
  ]);
}

/** Both scales are logarithmic; a line for each policy, through the settings worth choosing. */
export function pictureOfCosts(title: string, results: readonly Result[]): string {
  const families = [...new Set(results.map(({ family }) => family))].filter((family) => family !== "oracle");
  const costs = results.map(({ idleSeconds }) => idleSeconds).filter((cost) => cost > 0);
  const x = logarithmic(Math.min(...costs), Math.max(...costs), frame.left, frame.right - 130);
  const y = logarithmic(0.05, 100, frame.bottom, frame.top);
  const lines = families.map((family, index) => {
    const points = hullOf(results.filter((result) => result.family === family)).map(
      ({ idleSeconds, missPercent }) => `${dot(x(idleSeconds))},${dot(y(missPercent))}`,
    );
    const stroke = colours[index] ?? "#000000";
    return [
      `<polyline fill="none" stroke="${stroke}" stroke-width="${family === ours ? 3 : 1.5}" points="${points.join(" ")}"/>`,
      `<text x="${frame.right - 110}" y="${frame.top + 20 + 18 * index}" fill="${stroke}">${family}</text>`,
    ].join("");
  });
  const marks = [0.1, 1, 10, 100].map((percent) => `<text x="10" y="${dot(y(percent) + 4)}">${percent} %</text>`);
  return svg(`${title}: misses (upwards) against idle sandbox-seconds, both logarithmic`, [...lines, ...marks]);
}

function svg(title: string, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`;
  const paper = `<rect width="${width}" height="${height}" fill="white"/>`;
  return [head, paper, `<text x="10" y="16">${title}</text>`, ...parts, "</svg>\n"].join("\n");
}

function linear(most: number, from: number, to: number): Scale {
  return (value) => from + (value / most) * (to - from);
}

/** What is below the least is drawn there. */
function logarithmic(least: number, most: number, from: number, to: number): Scale {
  return (value) => from + (Math.log(Math.max(value, least) / least) / Math.log(Math.max(2, most / least))) * (to - from);
}

function dot(value: number): string {
  return value.toFixed(1);
}

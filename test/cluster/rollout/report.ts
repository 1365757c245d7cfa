/** Effects of a rollout on users, in the form of docs/benchmarks.md. */
import { percentile, table } from "../../../bench/lib/measure.ts";
import type { RolloutResult } from "./rollout-run.ts";
import { type Failure, requestKinds, type StreamTally, type Tally, type Trouble } from "./tally.ts";

export interface Report {
  readonly text: string;
  /** What must not be. */
  readonly problems: readonly string[];
}

const streamKinds: readonly StreamTally["kind"][] = ["command", "WebSocket", "HTTP"];

export function reportOf({ tally, restarts, unrecorded }: RolloutResult): Report {
  const requests = requestKinds.map((kind) => {
    const failed = tally.failures.filter((failure) => failure.kind === kind);
    const short = failed.filter(isShortage).length;
    const [asked, often] = [tally.asked[kind], tally.asked[kind] / tally.seconds];
    return {
      what: kind,
      values: {
        asked: String(asked),
        "a second": often.toFixed(1),
        failed: String(failed.length - short),
        "no pod in time": String(short),
      },
    };
  });
  const streams = streamKinds.map((kind) => ({ what: kind, values: streamRow(tally.streams.filter((stream) => stream.kind === kind)) }));
  const times = Object.entries(restarts).map(([part, seconds]) => `${part} ${seconds.toFixed(0)} s`);
  const text = [
    table(["asked", "a second", "failed", "no pod in time"], requests),
    table(["streams", "breaks", "there again", "ticks", "missed meanwhile", "twice or out of order"], streams),
    `Exchanged in: ${times.join(", ")} (with the end of the last old pod). Creates ${spread(tally.createMs)}, on the simulated node ` +
      `${spread(tally.simulatedCreateMs)}; ${tally.skipped} visits not begun because 100 were under way. ` +
      `${tally.passing.length + tally.staying.length} sandboxes, ${tally.harmed.length} harmed, ${unrecorded.length} without a record.`,
  ].join("\n\n");
  return { text, problems: problemsOf({ tally, restarts, unrecorded }) };
}

function spread(ms: readonly number[]): string {
  return ms.length === 0 ? "none" : `p50 ${percentile(ms, 0.5).toFixed(0)} ms, p99 ${percentile(ms, 0.99).toFixed(0)} ms`;
}

/** What was noted about the time of a failure. */
export function troubleOf({ failures, trouble }: Tally): readonly Trouble[] {
  return trouble.filter(({ at }) => failures.some((failure) => Math.abs(Date.parse(failure.at) - Date.parse(at)) < 1_000));
}

/** From a pool that a slow machine cannot fill fast enough; not caused by the rollout. A lower rate has none. */
function isShortage({ kind, why }: Failure): boolean {
  return kind.startsWith("create") && why.includes("became free within");
}

function streamRow(streams: readonly StreamTally[]): Readonly<Record<string, string>> {
  const sum = (of: (stream: StreamTally) => number): string => String(streams.reduce((total, stream) => total + of(stream), 0));
  return {
    streams: String(streams.length),
    breaks: sum(({ breaks }) => breaks),
    "there again": sum(({ reconnects }) => reconnects),
    ticks: sum(({ ticks }) => ticks),
    "missed meanwhile": sum(({ missed }) => missed),
    "twice or out of order": sum(({ odd }) => odd),
  };
}

function problemsOf({ tally, unrecorded }: RolloutResult): readonly string[] {
  const dead = tally.streams.filter(({ isAlive }) => !isAlive).map(({ kind }) => `a stream (${kind}) does not tick any more`);
  const odd = tally.streams.filter((stream) => stream.odd > 0).map(({ kind }) => `a stream (${kind}) said something twice`);
  // Without an interruption, no message can be lost.
  const lossy = tally.streams
    .filter(({ breaks, missed }) => breaks === 0 && missed > 0)
    .map(({ kind }) => `an unbroken stream (${kind}) lost ticks`);
  return [
    ...tally.failures.filter((failure) => !isShortage(failure)).map(({ kind, why, at }) => `${at} ${kind}: ${why}`),
    ...tally.harmed.map((id) => `sandbox ${id} was harmed`),
    ...unrecorded.map((id) => `sandbox ${id} has no record of its end`),
    ...dead,
    ...odd,
    ...lossy,
  ];
}

/**
 * `make bench-gateway`: requests, WebSocket messages and long bodies to a program directly, through our gateway, and through Envoy with the same routing,
 * in turns in one run. Siblings: load.ts (the client), upstream.ts (the program), gateway-process.ts and envoy.ts (the proxies), pinned.ts (their cores),
 * orders.ts (messages between them). Client and program share one core, the proxy has another; the cost of a request there does not depend on other work
 * of the machine.
 *   --rounds N    of each, in turns (default 5)     --seconds N   of a round (default 3)
 *   --sandboxes N that our gateway knows (default 1000)
 */
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { percentile, type Row, table } from "../lib/measure.ts";
import { envoyBinary, envoyVersion, startEnvoy } from "./envoy.ts";
import { type Loaded, type LoadOrder, sandboxName, type Way } from "./orders.ts";
import { cpuSeconds, pinnedNode } from "./pinned.ts";
import { freePort } from "../../test/world/free-port.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    sandboxes: { type: "string", default: "1000" },
  },
});
const rounds = Number(args.rounds);
const seconds = Number(args.seconds);
const gigabyte = 1024 ** 3;
const [loadCore, proxyCore] = [0, 1];
const say = (text: string): void => console.error(`  ${text} …`);
if (availableParallelism() < 2) throw new Error("the proxy must have a core of its own: this machine has only one");

interface Subject {
  readonly name: string;
  /** Undefined: no proxy. */
  readonly pid?: number | undefined;
  readonly small: Way;
  readonly large: Way;
}

interface Measured {
  readonly perSecond: number;
  readonly ms: readonly number[];
  /** Of the proxy, for each request, message or byte. */
  readonly cpuSeconds: number;
}

async function answersAt(port: number): Promise<void> {
  while ((await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) === undefined)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

async function startAll(open: DisposableStack): Promise<readonly Subject[]> {
  const upstream = open.adopt(pinnedNode(loadCore, import.meta.resolve("./upstream.ts")), (child) => void child.kill());
  const [ports] = (await once(upstream, "message")) as [{ readonly small: number; readonly large: number }];
  const to = (port: number): Way["headers"] => ({ "e2b-sandbox-id": sandboxName(0), "e2b-sandbox-port": String(port) });
  const through = (port: number): Pick<Subject, "small" | "large"> => ({
    small: { port, headers: to(ports.small) },
    large: { port, headers: to(ports.large) },
  });
  const gateway = open.adopt(pinnedNode(proxyCore, import.meta.resolve("./gateway-process.ts")), (child) => void child.kill());
  gateway.send({ sandboxes: Number(args.sandboxes) });
  const [gatewayPort] = (await once(gateway, "message")) as [number];
  const envoyPort = await freePort();
  const ways = [ports.small, ports.large].map((port) => ({ port, headers: to(port) }));
  const envoy = open.adopt(await startEnvoy(await envoyBinary(say), envoyPort, ways, proxyCore), (child) => void child.kill());
  await answersAt(envoyPort);
  return [
    { name: "direct", small: { port: ports.small, headers: {} }, large: { port: ports.large, headers: {} } },
    { name: "gateway", pid: gateway.pid, ...through(gatewayPort) },
    { name: "envoy", pid: envoy.pid, ...through(envoyPort) },
  ];
}

async function loaded(order: LoadOrder): Promise<Loaded> {
  const child = pinnedNode(loadCore, import.meta.resolve("./load.ts"));
  child.send(order);
  const [answer] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error("the load ended without having measured anything"))),
  ])) as [Loaded];
  child.disconnect();
  return answer;
}

/** In turns, so that what the machine does meanwhile meets all of them. */
async function inTurns(
  subjects: readonly Subject[],
  times: number,
  orderFor: (subject: Subject) => LoadOrder,
): Promise<Map<string, Measured>> {
  const all = new Map(subjects.map(({ name }) => [name, { count: 0, seconds: 0, cpu: 0, ms: [] as number[] }]));
  for (let round = 0; round < times; round++) {
    for (const subject of subjects) {
      const own = all.get(subject.name);
      if (own === undefined) continue;
      const before = subject.pid === undefined ? 0 : cpuSeconds(subject.pid);
      const answer = await loaded(orderFor(subject));
      own.cpu += subject.pid === undefined ? 0 : cpuSeconds(subject.pid) - before;
      own.count += answer.count;
      own.seconds += answer.seconds;
      for (const ms of answer.ms) own.ms.push(ms);
    }
  }
  return new Map(
    [...all].map(([name, { count, seconds: took, cpu, ms }]) => [name, { perSecond: count / took, ms, cpuSeconds: cpu / count }]),
  );
}

const rows: Row[] = [];
const columns = ["direct", "gateway", "envoy", "gateway / envoy", "target"];

type Figure = (measured: Measured) => number;

interface Judged {
  readonly text?: (value: number) => string;
  readonly target?: (measured: ReadonlyMap<string, Measured>) => readonly [text: string, isMet: boolean];
}

function row(what: string, measured: ReadonlyMap<string, Measured>, figure: Figure, { text = String, target }: Judged = {}): void {
  const value = (name: string): number => figure(measured.get(name) ?? { perSecond: Number.NaN, ms: [], cpuSeconds: Number.NaN });
  const shown = (name: string): string => (value(name) === 0 ? "–" : text(value(name)));
  const judged = target?.(measured);
  rows.push({
    what,
    values: {
      direct: shown("direct"),
      gateway: shown("gateway"),
      envoy: shown("envoy"),
      "gateway / envoy": `${(value("gateway") / value("envoy")).toFixed(2)}×`,
      target: judged === undefined ? "–" : `${judged[0]} ${judged[1] ? "✓" : "✗"}`,
    },
  });
}

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const fine = (value: number): string => value.toFixed(value < 10 ? 3 : 1);
const p =
  (share: number): Figure =>
  ({ ms }) =>
    percentile(ms, share);
const microseconds: Figure = ({ cpuSeconds: cpu }) => cpu * 1e6;

function addsLittle(measured: ReadonlyMap<string, Measured>): readonly [string, boolean] {
  const added = percentile(measured.get("gateway")?.ms ?? [], 0.5) - percentile(measured.get("direct")?.ms ?? [], 0.5);
  return [`adds ${fine(added)}, ≤ 0.4`, added <= 0.4];
}

function halfOfEnvoy(measured: ReadonlyMap<string, Measured>): readonly [string, boolean] {
  const share = (measured.get("envoy")?.cpuSeconds ?? 0) / (measured.get("gateway")?.cpuSeconds ?? Number.NaN);
  return [`${Math.round(share * 100)} % of its requests per core, ≥ 50 %`, share >= 0.5];
}

function describe(what: string, measured: ReadonlyMap<string, Measured>, isOneByOne: boolean): void {
  row(`${what}/s`, measured, ({ perSecond }) => perSecond, { text: whole });
  row(`${what}, p50 ms`, measured, p(0.5), { text: fine, ...(isOneByOne ? { target: addsLittle } : {}) });
  row(`${what}, p99 ms`, measured, p(0.99), { text: fine });
  row(`${what}, CPU of the proxy for each, µs`, measured, microseconds, { text: fine, ...(isOneByOne ? {} : { target: halfOfEnvoy }) });
}

using open = new DisposableStack();
const loadBefore = loadavg()[0] ?? 0;
const subjects = await startAll(open);
say("warming up");
await inTurns(subjects, 1, ({ small }) => ({ kind: "requests", ...small, connections: 50, seconds }));
for (const connections of [1, 50]) {
  say(`requests on ${connections} connections`);
  const measured = await inTurns(subjects, rounds, ({ small }) => ({ kind: "requests", ...small, connections, seconds }));
  describe(`GET on ${connections} ${connections === 1 ? "connection" : "connections"}`, measured, connections === 1);
}
say("WebSocket messages");
const echoed = await inTurns(subjects, rounds, ({ large }) => ({ kind: "messages", ...large, connections: 50, seconds }));
row("WebSocket echoes on 50 connections/s", echoed, ({ perSecond }) => perSecond, { text: whole });
row("WebSocket echoes, p50 ms", echoed, p(0.5), { text: fine });
row("WebSocket echoes, CPU of the proxy for each, µs", echoed, microseconds, { text: fine });
for (const kind of ["down", "up"] as const) {
  say(`1 GB ${kind}`);
  const measured = await inTurns(subjects, Math.min(rounds, 3), ({ large }) => ({ kind, ...large, connections: 1, bytes: gigabyte }));
  row(`1 GB ${kind}, MB/s`, measured, ({ perSecond }) => perSecond / 1e6, { text: whole });
  row(`1 GB ${kind}, CPU of the proxy, s`, measured, ({ cpuSeconds: cpu }) => cpu * gigabyte, { text: (value) => value.toFixed(2) });
}
console.log(table(columns, rows));
console.log(
  `\nEnvoy ${envoyVersion}, one worker; ${args.sandboxes} sandboxes; load of the machine before: ${loadBefore.toFixed(1)}, after: ${(loadavg()[0] ?? 0).toFixed(1)}`,
);

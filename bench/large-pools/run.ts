/**
 * What one team's large pool does to another team's requests: how long those take while the pool's pods are made and deleted, beside a
 * quiet server. The node is simulated; everything else is what `agentbox up` runs. `node bench/large-pools/run.ts [--pods 10000]`
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { percentile, table, type Row } from "../lib/measure.ts";

interface Server {
  readonly url: string;
  readonly file: string;
  readonly home: string;
  readonly adminKey: string;
  readonly redKey: string;
  readonly blueKey: string;
}

const { values: args } = parseArgs({ options: { pods: { type: "string", default: "10000" } } });
const wanted = Number(args.pods);
const child = fork(join(import.meta.dirname, "../lib/server-on-simulated-node.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
const [server] = (await once(child, "message")) as [Server];

async function ask(key: string, method: string, path: string, body?: object): Promise<{ status: number; json: unknown }> {
  const headers = { "agentbox-api-key": key, "content-type": "application/json" };
  const response = await fetch(`${server.url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

async function podsNow(): Promise<number> {
  child.send("count");
  const [{ pods }] = (await once(child, "message")) as [{ pods: number }];
  return pods;
}

/** Reads and writes of the other team, twenty in a second, until told to stop. */
async function otherTeam(until: () => Promise<boolean>): Promise<readonly number[]> {
  const samples: number[] = [];
  const mine = (await ask(server.blueKey, "GET", "/v1/pools")).json as { pools: { metadata: { name: string } }[] };
  const name = mine.pools[0]?.metadata.name ?? "";
  let replicas = 0;
  const call = (index: number): ReturnType<typeof ask> => {
    if (index % 3 === 0) return ask(server.blueKey, "GET", "/v1/sandboxes");
    if (index % 3 === 1) return ask(server.blueKey, "GET", `/v1/pools/${name}`);
    return ask(server.blueKey, "PUT", `/v1/pools/${name}/scale`, { replicas: (replicas = 1 - replicas) });
  };
  for (let index = 0, done = false; !done; index++) {
    const began = performance.now();
    const { status } = await call(index);
    samples.push(performance.now() - began);
    if (status >= 400) throw new Error(`the other team was answered with ${status}`);
    await pause(50);
    if (index % 10 === 9) done = await until();
  }
  return samples;
}

const after = (ms: number) => {
  const end = performance.now() + ms;
  return async () => performance.now() > end;
};

async function patiently(what: string, isDone: (pods: number) => boolean): Promise<() => Promise<boolean>> {
  const end = performance.now() + 10 * 60_000;
  return async () => {
    if (performance.now() > end) throw new Error(`${what} took more than ten minutes`);
    return isDone(await podsNow());
  };
}

const rows: Row[] = [];
function note(what: string, samples: readonly number[], seconds: number, more: Record<string, string> = {}): void {
  const ms = (share: number): string => `${percentile(samples, share).toFixed(1)} ms`;
  const megabytes = `${(statSync(server.file).size / 1e6).toFixed(0)} MB`;
  process.stderr.write(`${what}: ${seconds.toFixed(1)} s, p99 ${ms(0.99)}\n`);
  rows.push({
    what,
    values: {
      p50: ms(0.5),
      p99: ms(0.99),
      max: ms(1),
      requests: String(samples.length),
      took: `${seconds.toFixed(1)} s`,
      file: megabytes,
      ...more,
    },
  });
}

await ask(server.adminKey, "PATCH", "/v1/limits/server", { limits: { pods: 2 * wanted, podsPerPool: wanted } });
await ask(server.adminKey, "PATCH", "/v1/limits/teams/red", { limits: { pods: wanted, podsPerPool: wanted } });
await ask(server.blueKey, "POST", "/v1/pools", { metadata: { name: "small" }, spec: { replicas: 0, templateName: "base" } });
await otherTeam(after(2000));
note("quiet", await otherTeam(after(5000)), 5);

let began = performance.now();
const made = await ask(server.redKey, "POST", "/v1/pools", {
  metadata: { name: "large" },
  spec: { replicas: wanted, templateName: "base" },
});
const { name } = (made.json as { metadata: { name: string } }).metadata;
const postMs = performance.now() - began;
note(`${wanted} pods are made`, await otherTeam(await patiently("making", (pods) => pods >= wanted)), (performance.now() - began) / 1000, {
  own: `${postMs.toFixed(0)} ms`,
});

note("all are there", await otherTeam(after(5000)), 5);

began = performance.now();
await ask(server.redKey, "DELETE", `/v1/pools/${name}`);
const deleteMs = performance.now() - began;
note("they are deleted", await otherTeam(await patiently("deleting", (pods) => pods < 10)), (performance.now() - began) / 1000, {
  own: `${deleteMs.toFixed(0)} ms`,
});
note("20 s later", await otherTeam(after(20_000)), 20);

console.log(table(["p50", "p99", "max", "requests", "took", "own", "file"], rows));
child.disconnect();
await once(child, "exit");
await rm(server.home, { recursive: true, force: true });

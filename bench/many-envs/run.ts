/**
 * What many Envs cost a control plane: memory, processor time while nothing happens, and creates beside those of a server with few Envs.
 * The node is simulated; everything else is what `agentbox up` runs. `node bench/many-envs/run.ts [--envs 1000]`
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { percentile, table, timed, type Row } from "../lib/measure.ts";
import { processMs } from "../lib/process-time.ts";

interface Server {
  readonly url: string;
  readonly home: string;
  readonly adminKey: string;
}

const { values: args } = parseArgs({ options: { envs: { type: "string", default: "1000" } } });
/** Pods of each member: ten in an Env, in three pools. */
const memberSizes = [4, 3, 3];
const podsOfEnv = memberSizes.reduce((sum, size) => sum + size, 0);
const patienceMs = 15 * 60_000;
const quietMs = 30_000;

class Subject {
  readonly #child: ChildProcess;
  readonly #server: Server;

  private constructor(child: ChildProcess, server: Server) {
    this.#child = child;
    this.#server = server;
  }

  static async start(): Promise<Subject> {
    const child = fork(join(import.meta.dirname, "../lib/server-on-simulated-node.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [server] = (await once(child, "message")) as [Server];
    return new Subject(child, server);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask(method: string, path: string, body?: object): Promise<unknown> {
    const headers = { "agentbox-api-key": this.#server.adminKey, "content-type": "application/json" };
    const response = await fetch(`${this.#server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async pods(): Promise<number> {
    this.#child.send("count");
    const [{ pods }] = (await once(this.#child, "message")) as [{ pods: number }];
    return pods;
  }

  async podsAre(wanted: number): Promise<void> {
    const end = performance.now() + patienceMs;
    for (let told = 0; ;) {
      const pods = await this.pods();
      if (pods >= wanted) return;
      if (performance.now() > end) throw new Error(`there are ${pods} of ${wanted} pods after ${patienceMs / 60_000} minutes`);
      if (pods - told >= 1000) process.stderr.write(`  ${(told = pods)} of ${wanted} pods\n`);
      await pause(500);
    }
  }

  async stop(): Promise<void> {
    this.#child.disconnect();
    await once(this.#child, "exit");
    await rm(this.#server.home, { recursive: true, force: true });
  }
}

function envNamed(name: string): object {
  const members = memberSizes.map((minReplicas, index) => ({ name: `${name}-${index}`, config: { minReplicas, priority: index } }));
  const group = { name: "default", enabled: true, scaleUpPolicy: { mode: "Demand" } };
  const spec = { templateRef: { name: "base" }, clusters: [{ clusterID: "local", members }], autoscaling: { groups: [group] } };
  return { metadata: { name }, spec };
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0") / 1024;
}

/** Processor time of a second in which nothing is asked. */
async function idleCost(subject: Subject): Promise<number> {
  const [began, before] = [performance.now(), processMs(subject.pid)];
  await pause(quietMs);
  return ((processMs(subject.pid) - before) / (performance.now() - began)) * 1000;
}

async function creates(subject: Subject, count: number, envs: number): Promise<readonly number[]> {
  const { ms } = await timed(count, 1, (index) => subject.ask("POST", "/v1/sandboxes", { poolName: `env-${(index * 7) % envs}` }));
  return ms;
}

async function measure(envs: number): Promise<Row> {
  process.stderr.write(`${envs} Envs\n`);
  const subject = await Subject.start();
  const pods = envs * podsOfEnv;
  await subject.ask("PATCH", "/v1/limits/server", { limits: { pods: 2 * pods + 100, pools: 4 * envs, podsPerPool: 1000 } });
  const began = performance.now();
  for (let index = 0; index < envs; index++) await subject.ask("POST", "/v1/envs", envNamed(`env-${index}`));
  await subject.podsAre(pods);
  const filledS = (performance.now() - began) / 1000;
  await pause(15_000);
  const cost = await idleCost(subject);
  const memory = residentMiB(subject.pid);
  const warm = await creates(subject, 100, envs);
  // The first Env has given away some of its pods; what is asked for beyond them has to be made.
  const missed = await timed(podsOfEnv * 2, podsOfEnv * 2, () => subject.ask("POST", "/v1/sandboxes", { poolName: "env-0" }));
  await subject.stop();
  const ms = (samples: readonly number[], share: number): string => `${percentile(samples, share).toFixed(1)} ms`;
  return {
    what: `${envs} Envs, ${envs * memberSizes.length} pools, ${pods} pods`,
    values: {
      "filled in": `${filledS.toFixed(0)} s`,
      memory: `${memory.toFixed(0)} MiB`,
      "idle, ms of a processor a second": cost.toFixed(1),
      "create p50": ms(warm, 0.5),
      "create p99": ms(warm, 0.99),
      [`${podsOfEnv * 2} at once, slowest`]: ms(missed.ms, 1),
    },
  };
}

const few = await measure(10);
const many = await measure(Number(args.envs));
console.log(table(Object.keys(few.values), [few, many]));

/**
 * Sandboxes for the tests that try to break out of them: a node of its own for each file, real containers of the image
 * `host`. docs/isolation.md says which file tries what.
 */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { envdPort } from "#envd-protocol/arming.ts";
import type { Pod, PodSpec } from "#model/pod.ts";
import { type Output, type RealNode, startRealNode } from "../../world/real-node.ts";

/** Users of an attacker: every attempt that needs no root is made as both. */
export const users = ["root", "user"] as const;
export type User = (typeof users)[number];

export class Sandbox {
  readonly name: string;
  readonly #world: RealNode;
  readonly #pod: Pod;

  constructor(world: RealNode, pod: Pod) {
    this.name = pod.metadata.name ?? "";
    this.#world = world;
    this.#pod = pod;
  }

  get uid(): string {
    return this.#pod.metadata.uid ?? "";
  }

  get ip(): string {
    return this.#pod.status?.podIP ?? "";
  }

  run(argv: readonly string[], user: User = "root"): Promise<Output> {
    return this.#world.run(this.name, argv, { user });
  }

  sh(line: string, user: User = "root"): Promise<Output> {
    return this.run(["bash", "-c", line], user);
  }

  /** What a script prints, which must succeed. */
  async says(line: string, user: User = "root"): Promise<string> {
    return expectSuccess(await this.sh(line, user)).trim();
  }

  async python(source: string, user: User = "root"): Promise<string> {
    return expectSuccess(await this.run(["python3", "-c", source], user)).trim();
  }

  /** Pids on the machine of all its processes. */
  pids(): number[] {
    const files = globSync(`/sys/fs/cgroup/{pids/,}abx*/${this.uid}/*/cgroup.procs`);
    const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n"));
    return [...new Set(lines.filter((line) => line !== "").map(Number))];
  }

  /** Pid on the machine of its first process. */
  get pid(): number {
    const first = this.pids().find((pid) => statusOf(pid)["NSpid"]?.endsWith("\t1") === true);
    if (first === undefined) throw new Error(`${this.name} has no first process`);
    return first;
  }

  /** The status that its daemon answers with; undefined if it does not. */
  health(): Promise<number | undefined> {
    return new Promise((resolve) => {
      const asked = request({ host: this.ip, port: envdPort, path: "/health", timeout: 5000, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on("error", () => resolve(undefined)).on("timeout", () => asked.destroy());
      asked.end();
    });
  }
}

function expectSuccess({ code, stdout, stderr }: Output): string {
  if (code !== 0) throw new Error(`ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}

/** Fields of /proc/PID/status, seen from the machine. */
export function statusOf(pid: number): Readonly<Record<string, string>> {
  const lines = readFileSync(`/proc/${pid}/status`, "utf8").trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
}

/** A command on the machine, which must succeed. */
export function onMachine(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

export interface Neighbours {
  readonly world: RealNode;
  /** The attacker's. */
  readonly mine: Sandbox;
  readonly other: Sandbox;
}

/** Two sandboxes for all tests of a file. */
export function twoNeighbours(spec: { readonly mine?: Partial<PodSpec>; readonly other?: Partial<PodSpec> } = {}): Neighbours {
  const parts: { world?: RealNode; mine?: Sandbox; other?: Sandbox } = {};
  beforeAll(async () => {
    const world = await startRealNode();
    parts.world = world;
    const start = async (name: "mine" | "other"): Promise<void> => {
      parts[name] = new Sandbox(world, await world.sandbox(name, spec[name]));
    };
    await Promise.all([start("mine"), start("other")]);
  });
  afterAll(() => parts.world?.[Symbol.asyncDispose]());
  return {
    get world() {
      return started(parts.world);
    },
    get mine() {
      return started(parts.mine);
    },
    get other() {
      return started(parts.other);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the sandboxes are not there yet");
  return part;
}

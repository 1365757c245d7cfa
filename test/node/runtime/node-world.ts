/** A node of its own for a test: real containers on this machine, apart from every other instance, erased at the end. */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { systemClock } from "#lib/clock.ts";
import { hostImage } from "#engines/embedded/node/host-image/host-image.ts";
import type { ContainerExit, ContainerPlan, PodPlan, PodRuntime, PodState } from "#engines/embedded/node/pod-runtime.ts";
import type { ExecCommand } from "#kube/pod-access.ts";
import { erasePodRuntime, openPodRuntime, type PodRuntimeOptions } from "#engines/embedded/node/runc-pod-runtime.ts";
import { recordedLog } from "../../world/recorded-log.ts";
import { busyboxImage } from "./images.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export type ContainerWish = Partial<Omit<ContainerPlan, "id" | "podUid" | "security">> & {
  readonly security?: Partial<ContainerPlan["security"]>;
};

export class NodeWorld implements AsyncDisposable {
  readonly options: PodRuntimeOptions;
  readonly folder: string;
  readonly busybox: ResolvedImage;
  readonly exits = new Map<string, ContainerExit>();
  readonly #waiting = new Map<string, (exit: ContainerExit) => void>();
  #runtime: PodRuntime | undefined;

  private constructor(folder: string, options: PodRuntimeOptions) {
    this.folder = folder;
    this.options = options;
    this.busybox = busyboxImage(join(folder, "images"));
  }

  /** Opens a node on an unused network. */
  static async open(wish: Partial<PodRuntimeOptions> = {}): Promise<NodeWorld> {
    const world = NodeWorld.closed(wish);
    await world.openRuntime();
    return world;
  }

  /** The same, for a test in which another process opens it. */
  static closed(wish: Partial<PodRuntimeOptions> = {}): NodeWorld {
    const folder = mkdtempSync(join(tmpdir(), "agentbox-node-"));
    mkdirSync(join(folder, "logs"));
    return new NodeWorld(folder, {
      home: join(folder, "home"),
      instance: `t${randomBytes(2).toString("hex")}`,
      network: { subnet: NodeWorld.freeSubnet(), uplinks: [], nameservers: ["192.0.2.53"] },
      slots: 60,
      slotsAhead: 2,
      diskQuota: "none",
      // To try by hand what a suite finds on an older runtime: AGENTBOX_RUNC names it.
      allowVulnerableRuntime: process.env["AGENTBOX_ALLOW_VULNERABLE_RUNC"] === "1",
      clock: systemClock,
      log: recordedLog().log,
      ...wish,
    });
  }

  /** A small network that is probably unused. */
  static freeSubnet(): string {
    // 10.252 and 10.253 are the cluster's (tools/cluster/layout.ts), which may be on this machine too.
    return `10.${randomInt(254, 256)}.${randomInt(256)}.0/24`;
  }

  get runtime(): PodRuntime {
    if (this.#runtime === undefined) throw new Error("the node is closed");
    return this.#runtime;
  }

  async openRuntime(): Promise<readonly PodState[]> {
    this.#runtime = await openPodRuntime(this.options);
    this.#runtime.onExit((id, exit) => {
      this.exits.set(id, exit);
      this.#waiting.get(id)?.(exit);
    });
    return this.#runtime.list();
  }

  async closeRuntime(): Promise<void> {
    await this.#runtime?.close();
    this.#runtime = undefined;
  }

  host(): Promise<ResolvedImage> {
    return hostImage(join(tmpdir(), "agentbox-host-image"));
  }

  async pod(wish: Partial<PodPlan> = {}): Promise<PodState> {
    return this.runtime.ensurePod(aPod(wish));
  }

  plan(podUid: string, { security, ...wish }: ContainerWish = {}): ContainerPlan {
    const id = randomBytes(32).toString("hex");
    return {
      id,
      podUid,
      name: "main",
      attempt: 0,
      image: this.busybox,
      argv: ["/bin/sleep", "1000"],
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
      workingDir: "/",
      security: {
        user: "",
        supplementalGroups: [],
        addCapabilities: [],
        dropCapabilities: [],
        readOnlyRootFilesystem: false,
        allowPrivilegeEscalation: true,
        ...security,
      },
      resources: {},
      mounts: [],
      annotations: {},
      logFile: join(this.folder, "logs", id),
      daemon: false,
      ...wish,
    };
  }

  async start(podUid: string, wish: ContainerWish = {}): Promise<ContainerPlan> {
    const plan = this.plan(podUid, wish);
    await this.runtime.createContainer(plan);
    await this.runtime.startContainer(plan.id);
    return plan;
  }

  /** Runs a container to its end. */
  async run(podUid: string, wish: ContainerWish): Promise<{ readonly exit: ContainerExit; readonly log: string; readonly id: string }> {
    const plan = await this.start(podUid, wish);
    const exit = await this.exitOf(plan.id);
    return { exit, log: readFileSync(plan.logFile, "utf8"), id: plan.id };
  }

  logOf(plan: ContainerPlan): string {
    return readFileSync(plan.logFile, "utf8");
  }

  exitOf(id: string): Promise<ContainerExit> {
    const known = this.exits.get(id);
    return known === undefined ? new Promise((resolve) => this.#waiting.set(id, resolve)) : Promise.resolve(known);
  }

  async exec(id: string, argv: readonly string[], command: Partial<ExecCommand> & { readonly input?: string } = {}): Promise<Ran> {
    const session = this.runtime.exec(id, { ...command, argv });
    session.stdin.end(command.input ?? "");
    const [out, err, code] = await Promise.all([text(session.stdout), text(session.stderr), session.exitCode]);
    return { code, out, err };
  }

  /** A line of shell in a container. */
  sh(id: string, line: string, command: Partial<ExecCommand> = {}): Promise<Ran> {
    return this.exec(id, ["/bin/sh", "-c", line], command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeRuntime();
    await erasePodRuntime(this.options);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function aPod(wish: Partial<PodPlan> = {}): PodPlan {
  return { uid: randomUUID(), namespace: "default", name: "pod", hostname: "box", limits: { pids: 200 }, ...wish };
}

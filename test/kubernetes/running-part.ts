/** A part of AgentBox in this process, under the rights of its account. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runParts } from "#cmd/cluster/run-parts.ts";
import { homeFolder } from "#cmd/parts/home-folder.ts";
import { systemClock } from "#lib/clock.ts";
import { eventually } from "../world/eventually.ts";
import type { RecordedLine } from "../world/recorded-log.ts";
import type { KubernetesBed } from "./bed.ts";
import type { Account, AccountName } from "./chart-accounts.ts";

export interface PartOptions {
  readonly bed: KubernetesBed;
  readonly account: Account;
  readonly namespace: string;
  readonly sandboxNamespace: string;
  readonly onlyNamespace?: string;
  readonly daemonImage: string;
}

/** On a node that there is not, with control groups in a folder of the bed's. */
export const nodeName = "somewhere";

/** A part as `agentbox serve` runs it, with a history of its own. */
export class RunningPart {
  readonly lines: RecordedLine[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<number>;

  constructor(part: AccountName, { bed, account, namespace, sandboxNamespace, onlyNamespace, daemonImage }: PartOptions) {
    this.#ended = runParts({
      parts: [part],
      kubeconfig: account.kubeconfig,
      namespace,
      poolNamespace: sandboxNamespace,
      onlyNamespace,
      host: "127.0.0.1",
      port: 0,
      healthPort: 0,
      gateway: { port: 0, tlsPort: 0 },
      domain: "agentbox.localhost",
      clusterID: "local",
      apiAddress: undefined,
      daemonImage,
      databaseUrl: undefined,
      node: part === "node" ? { name: nodeName, cgroupRoot: emptyGroups(bed) } : undefined,
      home: homeFolder({ AGENTBOX_HOME: join(bed.folder, part) }),
      version: "0.0.0",
      env: {},
      clock: systemClock,
      signal: this.#stop.signal,
      stdout: { write: (text) => this.lines.push(JSON.parse(text) as RecordedLine) },
    });
    this.#ended.catch(() => {});
  }

  /** The line in which it says so. One that ends before has failed. */
  async says(msg: string): Promise<RecordedLine> {
    const line = (): RecordedLine | undefined => this.lines.find((one) => one.msg === msg);
    const isSaid = (): void => {
      if (line() === undefined) throw new Error(`it did not say ${JSON.stringify(msg)}`);
    };
    await Promise.race([eventually(isSaid), this.#ended]);
    return line() ?? { level: "none", msg: "" };
  }

  /** What the server did not let it do, by its own words. */
  refusals(): readonly string[] {
    return this.lines
      .map((line) => JSON.stringify(line))
      .filter((line) => /forbidden|cannot (get|list|watch|create|patch|update|delete)/i.test(line));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#ended;
  }
}

function emptyGroups({ folder }: KubernetesBed): string {
  const root = join(folder, "cgroup");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "cgroup.controllers"), "");
  return root;
}

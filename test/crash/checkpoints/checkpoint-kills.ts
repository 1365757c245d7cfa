/**
 * Kills a real server again and again while it takes checkpoints, forks, pauses deeply and resumes, and looks after each start whether the sandbox is there once, with
 * its files; and at the end whether anything is left behind.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Checkpoints } from "#model/checkpoint.ts";
import { UpProcess } from "../../world/up-process.ts";

interface Answer {
  readonly sandbox?: { readonly sandboxId: string; readonly status: string };
  readonly sandboxes?: readonly { readonly sandboxId: string; readonly status: string }[];
  readonly checkpoints?: readonly { readonly id: string; readonly phase: string }[];
}

const killedActions = ["checkpoint", "fork", "deep pause", "resume"] as const;
type KilledAction = (typeof killedActions)[number];

interface KillReport {
  readonly kills: number;
  /** How often each action had been answered with success before the kill came. */
  readonly done: Readonly<Record<KilledAction, number>>;
  readonly problems: readonly string[];
}

interface KillOptions {
  readonly kills: number;
  readonly random: () => number;
  readonly tell: (line: string) => void;
}

/** The longest time from the beginning of an action to the kill: a copy of the files takes less. */
const longestMs = 700;
const patienceMs = 120_000;

export async function killCheckpoints({ kills, random, tell }: KillOptions): Promise<KillReport> {
  await using up = await UpProcess.onNewFolder();
  const run = new KillRun(up);
  await run.begin();
  for (let number = 0; number < kills; number++) {
    const action = killedActions[number % killedActions.length] ?? "checkpoint";
    const afterMs = Math.floor(random() * longestMs);
    await run.kill(action, afterMs);
    tell(`${number + 1}/${kills}: killed ${afterMs} ms after the beginning of a ${action}; ${run.problems.length} problems`);
  }
  await run.end();
  return { kills, done: run.done, problems: run.problems };
}

class KillRun {
  readonly problems: string[] = [];
  readonly done: Record<KilledAction, number> = { checkpoint: 0, fork: 0, "deep pause": 0, resume: 0 };
  readonly #up: UpProcess;
  #api = { url: "", apiKey: "" };
  #sandbox = "";
  #note = "";

  constructor(up: UpProcess) {
    this.#up = up;
  }

  async begin(): Promise<void> {
    await this.#start();
    const { body } = await this.#ask("POST", "/sandboxes", { poolName: "base" });
    this.#sandbox = body.sandbox?.sandboxId ?? "";
    if (this.#sandbox === "") throw new Error(`no sandbox was made: ${JSON.stringify(body)}`);
    await this.#sh("head -c 40M /dev/urandom > ~/large");
  }

  async kill(action: KilledAction, afterMs: number): Promise<void> {
    this.#note = `${action} ${afterMs} ${Date.now()}`;
    await this.#sh(`echo '${this.#note}' > ~/note; sync ~/note`);
    if (action === "resume") await this.#ask("POST", `/sandboxes/${this.#sandbox}/pause`, { memory: false });
    const acting = this.#act(action).catch(() => 0);
    await sleep(afterMs);
    await this.#up.process.kill();
    const status = await acting;
    if (status >= 200 && status < 300) this.done[action] += 1;
    await this.#start();
    await this.#check(action);
  }

  async #act(action: KilledAction): Promise<number> {
    const path = `/sandboxes/${this.#sandbox}`;
    if (action === "checkpoint") return (await this.#ask("POST", `${path}/checkpoints`, {})).status;
    if (action === "fork") return (await this.#ask("POST", `${path}/fork`, { count: 2 })).status;
    if (action === "deep pause") return (await this.#ask("POST", `${path}/pause`, { memory: false })).status;
    return (await this.#ask("POST", `${path}/resume`)).status;
  }

  async #start(): Promise<void> {
    await this.#up.start();
    this.#api = await this.#up.access();
  }

  async #check(action: KilledAction): Promise<void> {
    const live = new Set(["Running", "Paused", "Starting"]);
    const { sandboxes = [] } = (await this.#ask("GET", "/sandboxes?limit=1000")).body;
    const own = sandboxes.filter(({ sandboxId, status }) => sandboxId === this.#sandbox && live.has(status));
    if (own.length !== 1) this.problems.push(`after a ${action} the sandbox is there ${own.length} times`);
    if (!(await this.#until(async () => (await this.#ask("POST", `/sandboxes/${this.#sandbox}/resume`)).status === 200))) {
      this.problems.push(`after a ${action} the sandbox cannot be resumed`);
      return;
    }
    const note = (await this.#sh("cat ~/note")).trim();
    if (note !== this.#note)
      this.problems.push(`after a ${action} its file says ${JSON.stringify(note)}, not ${JSON.stringify(this.#note)}`);
    // Children whose caller got no answer run until they are ended.
    for (const { sandboxId, status } of sandboxes) {
      if (sandboxId !== this.#sandbox && live.has(status)) await this.#ask("DELETE", `/sandboxes/${sandboxId}`);
    }
    const finished = async (): Promise<boolean> => {
      const { checkpoints = [] } = (await this.#ask("GET", "/checkpoints")).body;
      return checkpoints.every(({ phase }) => phase === "Succeeded" || phase === "Failed");
    };
    if (!(await this.#until(finished))) this.problems.push(`after a ${action} a checkpoint is neither there nor failed`);
    for (const { id } of (await this.#ask("GET", "/checkpoints")).body.checkpoints ?? []) await this.#ask("DELETE", `/checkpoints/${id}`);
  }

  /** Nothing is left of what was made. */
  async end(): Promise<void> {
    const { sandboxes = [] } = (await this.#ask("GET", "/sandboxes?limit=1000")).body;
    for (const { sandboxId } of sandboxes) await this.#ask("DELETE", `/sandboxes/${sandboxId}`);
    for (const purpose of ["fork", "build", "snapshot"]) {
      const { checkpoints = [] } = (await this.#ask("GET", `/checkpoints?purpose=${purpose}`)).body;
      for (const { id } of checkpoints) await this.#ask("DELETE", `/checkpoints/${id}`);
    }
    const made = async (): Promise<readonly string[]> => [
      ...(await this.#up.client.list(Checkpoints)).items.map(({ metadata }) => `the object ${metadata.name ?? ""}`),
      ...(await this.#kept("names")).map((name) => `the image ${name}`),
    ];
    await this.#isGone(made);
    // A layer goes with the next collection in which no image and no container needs it. Images that were asked for in the last minutes count as needed, until a restart.
    await this.#up.process.kill();
    await this.#start();
    await this.#isGone(async () => {
      await this.#up.agentbox("image", "gc");
      return (await this.#kept("layers")).map((name) => `the layer ${name}`);
    });
  }

  async #isGone(left: () => Promise<readonly string[]>): Promise<void> {
    if (!(await this.#until(async () => (await left()).length === 0))) this.problems.push(`left behind: ${(await left()).join(", ")}`);
  }

  #kept(folder: string): Promise<string[]> {
    return readdir(join(this.#up.home, "images", folder));
  }

  async #until(reached: () => Promise<boolean>): Promise<boolean> {
    const until = performance.now() + patienceMs;
    for (;;) {
      if (await reached().catch(() => false)) return true;
      if (performance.now() > until) return false;
      await sleep(200);
    }
  }

  async #sh(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.#up.agentbox("exec", this.#sandbox, "--", "sh", "-c", script);
    return code === 0 ? stdout : `code ${String(code)}: ${stderr}`;
  }

  async #ask(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: Answer }> {
    const { url, apiKey } = this.#api;
    const headers = { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const answer = await fetch(`${url}/v1${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Answer) };
  }
}

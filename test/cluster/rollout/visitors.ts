/**
 * Users of an installation with E2B's published SDK, in a process of their own: they create sandboxes, run a command and kill them, ask and
 * run short commands in sandboxes that stay, and listen to streams. Started by rollout-run.ts, which tells when it is over.
 */
import { subscribe } from "node:diagnostics_channel";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { envdPort } from "#envd-protocol/arming.ts";
import { jsModule } from "../../conformance/install.ts";
import type { Sandbox as SdkSandbox, Sdk } from "../../conformance/sdk.ts";
import { type Attempt, commandStream, httpStream, type LastingStream, ticksPort, webSocketStream } from "./streams.ts";
import { type Failure, type FromVisitors, type RequestKind, requestKinds, type Tally, type Trouble, type VisitorsOrder } from "./tally.ts";

const { Sandbox } = (await import(jsModule("2.51.0"))) as Sdk;
const gatewayUrl = process.env["E2B_SANDBOX_URL"] ?? "";
const pool = process.env["ROLLOUT_POOL"] ?? "";
const simulatedPool = process.env["ROLLOUT_SIMULATED_POOL"] ?? "";
/** Three commands, a WebSocket and an answer without end. */
const streamsOfSandbox = 5;
/** More than that under way at once: the machine is the bottleneck, and one more says nothing. */
const mostUnderWay = 100;
const lastingMs = 3_600_000;

const asked = Object.fromEntries(requestKinds.map((kind) => [kind, 0])) as Record<RequestKind, number>;
const failures: Failure[] = [];
const createMs: number[] = [];
const simulatedCreateMs: number[] = [];
const passing: string[] = [];
const underWay = new Set<Promise<unknown>>();
let skipped = 0;

/** What went wrong below the SDK, which does not tell: refusals with their words, and broken connections. */
const trouble: Trouble[] = [];
const refused = new WeakMap<object, Trouble>();
interface Exchange {
  readonly request: { readonly method: string; readonly path: string };
  readonly response?: { readonly statusCode: number };
  readonly chunk?: Uint8Array;
  readonly error?: Error & { readonly code?: string };
}
function note({ request: asking }: Exchange, what: string): void {
  const noted = { at: new Date().toISOString(), what: `${asking.method} ${asking.path}: ${what}` };
  trouble.push(noted);
  refused.set(asking, noted);
}
subscribe("undici:request:error", (message) => {
  const { error } = message as Exchange;
  note(message as Exchange, `${error?.code ?? error?.name} ${error?.message}`);
});
subscribe("undici:request:headers", (message) => {
  const { response } = message as Exchange;
  if ((response?.statusCode ?? 0) >= 400) note(message as Exchange, String(response?.statusCode));
});
subscribe("undici:request:bodyChunkReceived", (message) => {
  const { request: asking, chunk = new Uint8Array() } = message as Exchange;
  const noted = refused.get(asking);
  if (noted !== undefined) noted.what += ` ${Buffer.from(chunk).toString()}`;
});

/** Without retries: a refusal counts as a failure, as for a user of the SDK. */
async function request<T>(kind: RequestKind, call: () => Promise<T>): Promise<T | undefined> {
  asked[kind]++;
  try {
    return await call();
  } catch (error) {
    failures.push({ kind, why: describe(error), at: new Date().toISOString() });
    return undefined;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : ` (${describe(error.cause)})`;
  return `${error.name}: ${error.message}${cause}`.slice(0, 300);
}

async function passThrough(): Promise<void> {
  const began = performance.now();
  const sandbox = await request("create", () => Sandbox.create(pool, { timeoutMs: 120_000 }));
  if (sandbox === undefined) return;
  createMs.push(performance.now() - began);
  passing.push(sandbox.sandboxId);
  await request("command", async () => expectHello(await sandbox.commands.run("echo hello")));
  await request("kill", () => kill(sandbox));
}

/** Such a pod cannot run commands; its server answers with its sandbox id. */
async function passThroughSimulated(): Promise<void> {
  const began = performance.now();
  const sandbox = await request("create, simulated node", () => Sandbox.create(simulatedPool, { timeoutMs: lastingMs }));
  if (sandbox === undefined) return;
  simulatedCreateMs.push(performance.now() - began);
  passing.push(sandbox.sandboxId);
  const headers = { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": String(envdPort) };
  await request("call, simulated node", async () => {
    const said = await (await fetch(`${gatewayUrl}/who`, { headers })).text();
    if (said !== `sandbox ${sandbox.sandboxId}`) throw new Error(`the sandbox said ${JSON.stringify(said)}`);
  });
  await request("kill, simulated node", () => kill(sandbox));
}

/** The SDK says no more than false where there is no such sandbox. */
async function kill(sandbox: SdkSandbox): Promise<void> {
  if (!(await sandbox.kill())) throw new Error(`there is no sandbox ${sandbox.sandboxId} to kill`);
}

function expectHello({ stdout }: { readonly stdout: string }): void {
  if (stdout !== "hello\n") throw new Error(`the command said ${JSON.stringify(stdout)}`);
}

/** Begins one so often, whether or not those before are done; timers that come late on a busy machine make up for it. */
function every(ms: number, begin: () => Promise<unknown>): NodeJS.Timeout {
  const began = performance.now();
  let due = 0;
  return setInterval(() => {
    for (; due < Math.floor((performance.now() - began) / ms); due++) visitOnce(begin);
  }, ms);
}

function visitOnce(begin: () => Promise<unknown>): void {
  if (underWay.size >= mostUnderWay) {
    skipped++;
    return;
  }
  const visiting: Promise<unknown> = begin().finally(() => underWay.delete(visiting));
  underWay.add(visiting);
}

/** The first attempt counts as a request; a user would go on trying, and so do we. */
const attempt: Attempt = async (open) => {
  if ((await request("connect again", async () => (await open(), true))) === true) return true;
  for (let tries = 0; tries < 10; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const isThere = await open().then(
      () => true,
      () => false,
    );
    if (isThere) return true;
  }
  return false;
};

async function staying(count: number): Promise<{ readonly sandboxes: readonly SdkSandbox[]; readonly streams: readonly LastingStream[] }> {
  const program = await readFile(join(import.meta.dirname, "ticks.py"), "utf8");
  const sandboxes: SdkSandbox[] = [];
  const streams: LastingStream[] = [];
  for (let made = 0; made < count / streamsOfSandbox; made++) {
    const sandbox = await Sandbox.create(pool, { timeoutMs: lastingMs });
    sandboxes.push(sandbox);
    await sandbox.files.write("/home/user/ticks.py", program);
    await sandbox.commands.run("exec python3 /home/user/ticks.py", { background: true, timeoutMs: 0 });
    await sandbox.commands.run(`until bash -c ': > /dev/tcp/127.0.0.1/${ticksPort}' 2>/dev/null; do sleep 0.1; done`);
    const headers = { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": String(ticksPort) };
    for (let command = 2; command < streamsOfSandbox; command++) streams.push(await commandStream(sandbox, attempt));
    streams.push(await httpStream(gatewayUrl, headers, attempt), await webSocketStream(gatewayUrl, headers, attempt));
  }
  return { sandboxes, streams };
}

/** Those that are not running any more, or without the processes that were begun in them. */
async function harmedOf(sandboxes: readonly SdkSandbox[]): Promise<readonly string[]> {
  const looked = sandboxes.map(async ({ sandboxId, commands }) => {
    const { state } = await Sandbox.getInfo(sandboxId);
    const running = await commands.list();
    return state === "running" && running.length === streamsOfSandbox - 1 ? [] : [`${sandboxId}: ${state}, ${running.length} commands`];
  });
  return (await Promise.all(looked)).flat();
}

async function visit({ perSecond, simulatedPerSecond, streams: wanted }: VisitorsOrder, isOver: Promise<void>): Promise<Tally> {
  const { sandboxes, streams } = await staying(wanted);
  tell({ kind: "settled" });
  const began = performance.now();
  const next = (of: number): SdkSandbox => sandboxes[of % sandboxes.length] as SdkSandbox;
  const timers = [every(1000 / perSecond, passThrough)];
  if (simulatedPerSecond > 0) timers.push(every(1000 / simulatedPerSecond, passThroughSimulated));
  // Cheap requests can be sent often on any machine.
  timers.push(every(200, () => request("read", () => Sandbox.getInfo(next(asked.read).sandboxId))));
  const short = async (): Promise<void> => expectHello(await next(asked["short command"]).commands.run("echo hello"));
  timers.push(every(200, () => request("short command", short)));
  await isOver;
  for (const timer of timers) clearInterval(timer);
  const seconds = (performance.now() - began) / 1000;
  await Promise.all(underWay);
  const harmed = await harmedOf(sandboxes);
  const told = streams.map((stream) => stream.end());
  const stayed = sandboxes.map(({ sandboxId }) => sandboxId);
  await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  return { seconds, asked, skipped, failures, trouble, createMs, simulatedCreateMs, passing, staying: stayed, harmed, streams: told };
}

function tell(message: FromVisitors): void {
  process.send?.(message);
}

function fail(error: unknown): void {
  console.error(describe(error), trouble.slice(-5));
  process.exit(1);
}

const over = Promise.withResolvers<void>();
process.on("disconnect", () => process.exit(0));
// An SDK rejects this when its stream breaks while nothing awaits it.
process.on("unhandledRejection", () => {});
process.on("message", (order: VisitorsOrder | "over") => {
  if (order === "over") over.resolve();
  else void visit(order, over.promise).then((tally) => tell({ kind: "tally", tally }), fail);
});

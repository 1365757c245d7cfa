/** The real daemon, bundled as sandboxes get it, on this machine: started, armed, and asked as the SDKs would. */
import { spawn, type ChildProcess } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { schemaRegistry } from "#envd/connect/descriptors.ts";
import { header, publicKeyText, signInit, signRetire, type InitBody } from "#envd-protocol/arming.ts";
import { daemonFlags } from "#model/daemon-command.ts";
import { freePort } from "../world/free-port.ts";

const keys = generateKeyPairSync("ed25519");
const podUid = "pod-1";
const signer = { podUid, privateKey: keys.privateKey };
export const sandboxId = "sandbox1";

export interface Daemon extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  /** Sends it an order, signed as the control plane signs. */
  init(body: InitBody): Promise<void>;
  /** What an order with this body has in front of it. */
  signed(body: Uint8Array, sandboxId?: string): Promise<Readonly<Record<string, string>>>;
}

let folder: Promise<string> | undefined;
/** Made once per test process. */
export function bundledDaemon(): Promise<string> {
  folder ??= mkdtemp(join(tmpdir(), "agentbox-envd-")).then((parent) => {
    process.on("exit", () => void rm(parent, { recursive: true, force: true }));
    return daemonFolder({ parent });
  });
  return folder;
}

export interface DaemonPlace {
  /** The command that runs the daemon's in a place of its own. */
  readonly within?: (argv: readonly string[]) => readonly string[];
  /** Hears what it writes to its standard error, instead of the terminal. */
  readonly onError?: (text: string) => void;
}

/** Armed with `init`, unless it is to wait. */
export async function startDaemon(
  init: InitBody | "waiting" = {},
  env: Readonly<Record<string, string>> = {},
  { within = (argv) => argv, onError }: DaemonPlace = {},
): Promise<Daemon> {
  const home = await bundledDaemon();
  const port = env["AGENTBOX_ENVD_PORT"] ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const variables = {
    PATH: process.env["PATH"] ?? "",
    AGENTBOX_POD_UID: podUid,
    AGENTBOX_PUBLIC_KEY: publicKeyText(keys.publicKey),
    AGENTBOX_ENVD_PORT: String(port),
    ...env,
  };
  const loader = [join(home, "lib/ld.so"), "--library-path", join(home, "lib")];
  const argv = [
    join(home, "init"),
    "-s",
    "--",
    join(home, "helper"),
    "doorman",
    ...loader,
    join(home, "node"),
    ...daemonFlags,
    join(home, "envd.cjs"),
  ];
  const [command = "", ...args] = within(argv);
  const child = spawn(command, args, { env: variables, stdio: ["ignore", "inherit", onError === undefined ? "inherit" : "pipe"] });
  child.stderr?.on("data", (chunk: Buffer) => onError?.(chunk.toString("utf8")));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await answered(`${url}/health`);
  const daemon: Daemon = {
    url,
    process: child,
    init: (body) => armDaemon(url, body, signer),
    signed: (body, forWhom) => signedHeaders(url, body, signer, forWhom),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
  if (init !== "waiting") await daemon.init(init);
  return daemon;
}

interface Signer {
  readonly podUid: string;
  readonly privateKey: KeyObject;
}

export async function armDaemon(url: string, body: InitBody, by: Signer): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  const answer = await fetch(`${url}/init`, { method: "POST", headers: await signedHeaders(url, bytes, by), body: bytes });
  if (answer.status !== 204) throw new Error(`${answer.status}: ${await answer.text()}`);
}

/** Ends the sandbox, as the control plane does. */
export async function retireDaemon(url: string, by: Signer): Promise<void> {
  const signature = signRetire(by.privateKey, { podUid: by.podUid, sandboxId });
  const headers = { [header.sandboxId]: sandboxId, [header.signature]: signature };
  const answer = await fetch(`${url}/retire`, { method: "POST", headers });
  if (answer.status !== 204) throw new Error(`${answer.status}: ${await answer.text()}`);
}

async function signedHeaders(url: string, body: Uint8Array, by: Signer, forWhom = sandboxId): Promise<Readonly<Record<string, string>>> {
  const bootId = (await fetch(`${url}/health`)).headers.get(header.bootId) ?? "";
  const signature = signInit(by.privateKey, { podUid: by.podUid, bootId, sandboxId: forWhom }, body);
  return { [header.sandboxId]: forWhom, [header.signature]: signature };
}

async function answered(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Messages are described at run time, so the client knows their shapes no better than this. */
// oxlint-disable-next-line typescript/no-explicit-any -- there is no generated code to give it types
export type Caller = Record<Method, (request: unknown, options?: unknown) => any>;

type Method =
  | ("list" | "connect" | "start" | "update" | "streamInput" | "sendInput" | "sendSignal" | "closeStdin")
  | ("stat" | "makeDir" | "move" | "listDir" | "remove" | "watchDir" | "createWatcher" | "getWatcherEvents" | "removeWatcher");

export interface Callers {
  readonly process: Caller;
  readonly filesystem: Caller;
}

/** The client of the protocol's authors, which holds our server to it. */
export function callers(url: string, useBinaryFormat: boolean): Callers {
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat });
  const of = (name: string): Caller => {
    const service = schemaRegistry().getService(name);
    if (service === undefined) throw new Error(`no service ${name}`);
    return createClient(service, transport) as unknown as Caller;
  };
  return { process: of("process.Process"), filesystem: of("filesystem.Filesystem") };
}

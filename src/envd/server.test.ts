import { generateKeyPairSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  header,
  publicKeyFromText,
  publicKeyText,
  signInit,
  signRetire,
  type InitSubject,
  type RetireSubject,
} from "#envd-protocol/arming.ts";
import { ArmedState } from "./armed-state.ts";
import { noProgram as program } from "./own-program.ts";
import { envdServer } from "./server.ts";

const keys = generateKeyPairSync("ed25519");
const subject: InitSubject = { podUid: "pod-1", bootId: "boot-1", sandboxId: "sandbox-1" };

let url = "";
/** What becomes of the attempt to end all processes. */
let canEnd = true;
let ends = 0;
let close = async (): Promise<void> => {};
beforeEach(async () => {
  const controlPlaneKey = publicKeyText(keys.publicKey);
  [canEnd, ends] = [true, 0];
  const endProcesses = async (): Promise<boolean> => ((ends += 1), canEnd);
  const identity = { podUid: "pod-1", bootId: "boot-1", controlPlaneKey };
  const server = envdServer(identity, { state: new ArmedState(), helper: "none", program, endProcesses });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(() => close());

interface Init {
  readonly signedFor?: Partial<InitSubject>;
  readonly sentFor?: string;
  readonly body?: string;
  readonly sentBody?: string;
  readonly key?: typeof keys.privateKey;
}

async function init({
  signedFor = {},
  sentFor = "sandbox-1",
  body = "{}",
  sentBody = body,
  key = keys.privateKey,
}: Init = {}): Promise<number> {
  const signature = signInit(key, { ...subject, sandboxId: sentFor, ...signedFor }, Buffer.from(body));
  const headers = { [header.sandboxId]: sentFor, [header.signature]: signature };
  return (await fetch(`${url}/init`, { method: "POST", headers, body: sentBody })).status;
}

async function armedFor(): Promise<string | null> {
  const answer = await fetch(`${url}/health`);
  expect(answer.status).toBe(204);
  expect(answer.headers.get(header.armed)).toBe(answer.headers.get(header.sandboxId) === null ? "no" : "yes");
  return answer.headers.get(header.sandboxId);
}

test("a waiting daemon tells its boot and pod and that it is not armed", async () => {
  const { headers } = await fetch(`${url}/health`);
  expect(headers.get(header.bootId)).toBe("boot-1");
  expect(headers.get(header.podUid)).toBe("pod-1");
  expect(await armedFor()).toBeNull();
});

test("a waiting daemon answers nothing but /health and /init", async () => {
  for (const path of ["/", "/files", "/process.Process/List", "/envs", "/health/x"]) expect((await fetch(url + path)).status).toBe(503);
});

test("a signed /init arms the daemon for its sandbox", async () => {
  expect(await init()).toBe(204);
  expect(await armedFor()).toBe("sandbox-1");
});

test("the same order again is taken; other values for the same sandbox, and another sandbox, are a conflict", async () => {
  expect(await init()).toBe(204);
  expect(await init()).toBe(204);
  expect(await init({ body: '{"accessToken":"renewed"}' })).toBe(409);
  expect(await init({ sentFor: "sandbox-2" })).toBe(409);
  expect(await armedFor()).toBe("sandbox-1");
});

const forged: readonly [string, Init][] = [
  ["by another key", { key: generateKeyPairSync("ed25519").privateKey }],
  ["for another pod", { signedFor: { podUid: "pod-2" } }],
  ["for an earlier boot", { signedFor: { bootId: "boot-0" } }],
  ["for another sandbox", { signedFor: { sandboxId: "sandbox-2" } }],
  ["over another body", { sentBody: '{"accessToken":"mine"}' }],
];
test.for(forged)("an /init signed %s is refused", async ([, request]) => {
  expect(await init(request)).toBe(401);
  expect(await armedFor()).toBeNull();
});

test("an /init without a signature, or with nonsense as one, is refused", async () => {
  expect((await fetch(`${url}/init`, { method: "POST" })).status).toBe(401);
  const headers = { [header.sandboxId]: "sandbox-1", [header.signature]: "%%%" };
  expect((await fetch(`${url}/init`, { method: "POST", headers })).status).toBe(401);
});

test.for(["not json", "[]", '{"accessToken":1}', '{"envVars":{"A":1}}', "null"])(
  "a signed /init with the body %s is a bad request",
  async (body) => {
    expect(await init({ body })).toBe(400);
    expect(await armedFor()).toBeNull();
  },
);

test("an /init beyond a megabyte is refused", async () => {
  expect(await init({ body: `{"accessToken":"${"x".repeat(1024 * 1024)}"}` })).toBe(413);
});

test("a wrong method is told the right one", async () => {
  expect((await fetch(`${url}/init`)).status).toBe(405);
  expect((await fetch(`${url}/health`, { method: "DELETE" })).status).toBe(405);
});

async function retire(sentFor = "sandbox-1", { signedFor = {}, key = keys.privateKey }: RetireOptions = {}): Promise<number> {
  const signature = signRetire(key, { podUid: "pod-1", sandboxId: sentFor, ...signedFor });
  const headers = { [header.sandboxId]: sentFor, [header.signature]: signature };
  return (await fetch(`${url}/retire`, { method: "POST", headers })).status;
}

interface RetireOptions {
  readonly signedFor?: Partial<RetireSubject>;
  readonly key?: typeof keys.privateKey;
}

test("a retired daemon ends all processes, serves no sandbox, and still reports its sandbox", async () => {
  await init();
  expect([await retire(), ends]).toEqual([204, 1]);
  expect((await fetch(`${url}/envs`)).status).toBe(503);
  expect(await armedFor()).toBe("sandbox-1");
  expect(await init(), "it cannot be armed again").toBe(409);
  expect(await retire(), "a repetition gets the same answer").toBe(204);
});

test("a daemon that is retired before it was armed takes no order that comes late", async () => {
  expect(await retire()).toBe(204);
  expect(await init()).toBe(409);
});

test("a daemon that cannot end what runs says so", async () => {
  await init();
  canEnd = false;
  expect(await retire()).toBe(501);
});

test("another sandbox's end is not this one's", async () => {
  await init();
  expect([await retire("sandbox-2"), ends]).toEqual([409, 0]);
  expect(await init()).toBe(204);
});

test.for<[string, RetireOptions]>([
  ["by another key", { key: generateKeyPairSync("ed25519").privateKey }],
  ["for another pod", { signedFor: { podUid: "pod-2" } }],
  ["for another sandbox", { signedFor: { sandboxId: "sandbox-2" } }],
])("a /retire signed %s is refused, and nothing ends", async ([, options]) => {
  await init();
  expect([await retire("sandbox-1", options), ends]).toEqual([401, 0]);
  expect(await init()).toBe(204);
});

test("a /retire without a signature, or asked for with GET, is refused", async () => {
  expect((await fetch(`${url}/retire`, { method: "POST" })).status).toBe(401);
  expect((await fetch(`${url}/retire`)).status).toBe(405);
});

test("a public key of the wrong size is refused with its size", () => {
  expect(() => publicKeyFromText("abc=")).toThrow(/32 bytes in base64, not 2 bytes/);
});

test("an order that arms it is worth nothing once the sandbox has ended, to the same sandbox or another", async () => {
  expect(await init({ body: '{"accessToken":"t"}' })).toBe(204);
  expect(await retire()).toBe(204);
  expect(await init({ body: '{"accessToken":"t"}' })).toBe(409);
  expect(await init({ sentFor: "sandbox-2" })).toBe(409);
  expect((await fetch(`${url}/envs`, { headers: { "x-access-token": "t" } })).status).toBe(503);
});

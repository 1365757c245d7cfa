import { generateKeyPairSync } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { Registry } from "prom-client";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { Caller } from "#services/caller.ts";
import { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type ApiFace, apiServer, type ApiServerDeps } from "../http/api-server.ts";
import { callerOf } from "../http/caller-of.ts";
import { problemShape } from "../http/problem.ts";
import { consoleFace } from "./console-face.ts";

const callers: Readonly<Record<string, Caller>> = {
  red: { role: "tenant", team: "red", keyId: "1111111111111111" },
  admin: { role: "admin", team: "", keyId: "2222222222222222" },
};
const revoked = new Set<string>();
const keys = {
  authenticate: (key: string) => callers[key],
  whenEnded: () => () => {},
  callerOf: (keyId: string) => (revoked.has(keyId) ? undefined : Object.values(callers).find((caller) => caller.keyId === keyId)),
};
const clock = new SteppedClock();
const { privateKey } = generateKeyPairSync("ed25519");
const sessions = new ConsoleSessions({ clock, privateKey, keys });
const file = { contentType: "text/javascript; charset=utf-8", bytes: Buffer.from("plain"), brotli: Buffer.from("small") };
const files = {
  page: async () => '<meta name="style-nonce" content="__STYLE_NONCE__">',
  asset: async (name: string) => (name === "main-1.js" ? file : undefined),
};
const native: ApiFace = {
  errors: problemShape,
  acceptsSessions: true,
  routes: (app) => void app.route({ method: ["GET", "DELETE"], url: "/v1/me", handler: async (request) => callerOf(request) }),
};
const other: ApiFace = { errors: problemShape, routes: (app) => void app.get("/e2b/me", async (request) => callerOf(request)) };
const serve = (limits?: ApiServerDeps["limits"]) =>
  apiServer({
    keys,
    sessions,
    clock,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    limits,
    faces: [consoleFace({ keys, sessions, files, domain: "box.test", version: "1.2.3" }), native, other],
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
  });
const app = await serve();
afterAll(() => app.close());

const own = { host: "box.test", "x-agentbox-console": "1", origin: "http://box.test", "sec-fetch-site": "same-origin" };

async function signIn(key = "red"): Promise<{ readonly status: number; readonly setCookie: string; readonly cookie: string }> {
  const reply = await app.inject({ method: "POST", url: "/console/session", headers: own, payload: { key } });
  const setCookie = String(reply.headers["set-cookie"] ?? "");
  return { status: reply.statusCode, setCookie, cookie: setCookie.split(";")[0] ?? "" };
}

async function me(headers: Readonly<Record<string, string>>, method: "GET" | "DELETE" = "GET") {
  return (await app.inject({ method, url: "/v1/me", headers: { ...own, ...headers } })).statusCode;
}

test("a valid key opens a session that the native API takes, and scripts cannot read its cookie", async () => {
  const { status, setCookie, cookie } = await signIn();
  expect(status).toBe(200);
  expect(setCookie).toContain("HttpOnly");
  expect(setCookie).toContain("SameSite=Strict");
  const reply = await app.inject({ method: "GET", url: "/v1/me", headers: { ...own, cookie } });
  expect(reply.json()).toEqual(callers["red"]);
});

test("sign-ins count against the requests of their team", async () => {
  const limited = await serve({ ofTeam: (_team, name) => (name === "requestsPerSecond" ? 1 : undefined) });
  const signInAt = () => limited.inject({ method: "POST", url: "/console/session", headers: own, payload: { key: "red" } });
  const codes = [(await signInAt()).statusCode, (await signInAt()).statusCode, (await signInAt()).statusCode];
  expect(codes).toEqual([200, 200, 429]);
  await limited.close();
});

test("a wrong key opens none", async () => {
  expect(await signIn("nonsense")).toMatchObject({ status: 401, setCookie: "" });
});

test("the key stands nowhere in the cookie", async () => {
  const { cookie } = await signIn("admin");
  expect(Buffer.from(cookie.split("=")[1]?.split(".")[0] ?? "", "base64url").toString()).not.toContain("admin");
});

test("without a cookie, and with one that was changed, the answer is 401", async () => {
  const { cookie } = await signIn();
  expect(await me({})).toBe(401);
  expect(await me({ cookie: `${cookie.slice(0, -2)}xx` })).toBe(401);
  expect(await me({ cookie: "agentbox_session=e30.e30" })).toBe(401);
});

test("pages of another origin, of a sandbox below the same domain, and requests without an origin get 403", async () => {
  const { cookie } = await signIn();
  expect(await me({ cookie, origin: "http://evil.test" }, "DELETE")).toBe(403);
  expect(await me({ cookie, origin: "http://evil.test" })).toBe(403);
  expect(await me({ cookie, origin: "null" })).toBe(403);
  expect(await me({ cookie, "sec-fetch-site": "same-site" })).toBe(403);
  const { "x-agentbox-console": _, ...unnamed } = own;
  expect((await app.inject({ method: "DELETE", url: "/v1/me", headers: { ...unnamed, cookie } })).statusCode).toBe(403);
});

test("a foreign page can neither sign a browser in nor out", async () => {
  for (const method of ["POST", "DELETE"] as const) {
    const headers = { ...own, origin: "http://evil.test" };
    const payload = method === "POST" ? { payload: { key: "red" } } : {};
    const reply = await app.inject({ method, url: "/console/session", headers, ...payload });
    expect([reply.statusCode, reply.headers["set-cookie"]]).toEqual([403, undefined]);
  }
});

test("a session is good for the native API only", async () => {
  const { cookie } = await signIn();
  expect((await app.inject({ method: "GET", url: "/e2b/me", headers: { ...own, cookie } })).statusCode).toBe(401);
});

test("a session ends when its key is revoked", async () => {
  const { cookie } = await signIn("admin");
  revoked.add("2222222222222222");
  expect(await me({ cookie })).toBe(401);
  revoked.clear();
});

test("a session ends by itself after its time", async () => {
  const { cookie } = await signIn();
  await clock.step(12 * 3_600_000 - 1);
  expect(await me({ cookie })).toBe(200);
  await clock.step(1);
  expect(await me({ cookie })).toBe(401);
});

test("after a sign-out the cookie is invalid, also a copy of it", async () => {
  const { cookie } = await signIn();
  const reply = await app.inject({ method: "DELETE", url: "/console/session", headers: { ...own, cookie } });
  expect(String(reply.headers["set-cookie"])).toContain("Max-Age=0");
  expect(await me({ cookie })).toBe(401);
});

test("behind TLS the cookie has a name that no other host can set, and goes over TLS only", async () => {
  const headers = { ...own, "x-forwarded-proto": "https", origin: "https://box.test" };
  const reply = await app.inject({ method: "POST", url: "/console/session", headers, payload: { key: "red" } });
  expect(String(reply.headers["set-cookie"])).toMatch(/^__Host-agentbox_session=.*; Secure$/);
});

test("sessions of one process are good in another with the same control plane's key, and in none with another key", () => {
  const again = new ConsoleSessions({ clock, privateKey, keys });
  const foreign = new ConsoleSessions({ clock, privateKey: generateKeyPairSync("ed25519").privateKey, keys });
  const { text } = sessions.open(callers["red"] as Caller);
  expect([again.callerOf(text), foreign.callerOf(text)]).toEqual([callers["red"], undefined]);
});

test("a page allows scripts of this server only, and style elements with the nonce of this answer", async () => {
  const [one, two] = await Promise.all([app.inject("/"), app.inject("/console/sandboxes/abc")]);
  const policy = String(one.headers["content-security-policy"]);
  expect(policy).toContain("default-src 'none'; script-src 'self'; ");
  expect(policy).not.toMatch(/script-src[^;]*unsafe/);
  const nonce = /content="([\w-]{22})"/.exec(one.body)?.[1];
  expect(policy).toContain(`'nonce-${nonce}'`);
  expect(two.body).not.toBe(one.body);
  expect(one.headers).toMatchObject({ "x-frame-options": "DENY", "referrer-policy": "no-referrer", "cache-control": "no-store" });
});

test("files are sent as small as the browser can read them, and are kept for ever", async () => {
  const packed = await app.inject({ url: "/console/assets/main-1.js", headers: { "accept-encoding": "gzip, br" } });
  expect([packed.body, packed.headers["content-encoding"]]).toEqual(["small", "br"]);
  expect(packed.headers["cache-control"]).toContain("immutable");
  const plain = await app.inject({ url: "/console/assets/main-1.js" });
  expect([plain.body, plain.headers["content-encoding"]]).toEqual(["plain", undefined]);
  expect((await app.inject({ url: "/console/assets/other.js" })).statusCode).toBe(404);
});

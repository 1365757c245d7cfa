import { generateKeyPairSync } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { Registry } from "prom-client";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { NewEntry } from "#services/audit/audit-trail.ts";
import type { Caller } from "#services/caller.ts";
import { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { ServiceError } from "#services/service-error.ts";
import type { OidcSignIn } from "#services/sign-in/oidc-sign-in.ts";
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
const sessions = new ConsoleSessions({ clock, privateKey, keys, rules: "as now" });
/** A provider of few words: the flow is a name, which it vouches for when it comes back. */
const oidc = {
  settings: { name: "The login", url: "http://box.test", sessionMs: 3_600_000 },
  start: async () => ({ url: "http://login.test/auth", flow: "flow-of-ann", lifetimeMs: 600_000 }),
  finish: async (flow: string, answer: string): Promise<Caller> => {
    if (flow !== "flow-of-ann" || answer !== "?code=1") throw new ServiceError("unauthenticated", "start again");
    return { role: "tenant", team: "red", user: "ann", keyId: "oidc:ann" };
  },
} as unknown as OidcSignIn;
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
const audited: NewEntry[] = [];
const serve = (limits?: ApiServerDeps["limits"]) =>
  apiServer({
    audit: { note: async (entry) => void audited.push(entry) },
    keys,
    sessions,
    clock,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    limits,
    faces: [consoleFace({ keys, sessions, oidc, files, domain: "box.test", version: "1.2.3" }), native, other],
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

async function signInByProvider(answer = "?code=1") {
  const started = await app.inject({ method: "POST", url: "/console/oidc/start", headers: own });
  const flow = String(started.headers["set-cookie"]);
  const cookie = flow.split(";")[0] ?? "";
  const reply = await app.inject({ method: "POST", url: "/console/oidc/finish", headers: { ...own, cookie }, payload: { answer } });
  const [forgotten = "", session = ""] = [reply.headers["set-cookie"]].flat();
  return { started, flow, reply, forgotten, session: session.split(";")[0] ?? "" };
}

test("a person signs in at the provider, and has a session without any key", async () => {
  expect((await app.inject({ url: "/console/sign-in", headers: own })).json()).toEqual({ oidc: { name: "The login" } });
  const { started, flow, reply, forgotten, session } = await signInByProvider();
  expect(started.json()).toEqual({ url: "http://login.test/auth" });
  expect(flow).toMatch(/^agentbox_sign_in=flow-of-ann; .*HttpOnly; SameSite=Strict$/);
  expect(reply.json()).toMatchObject({ caller: { role: "tenant", team: "red", user: "ann", keyId: "oidc:ann" }, isActing: false });
  expect(forgotten).toContain("agentbox_sign_in=; Path=/; Max-Age=0");
  expect(await me({ cookie: session })).toBe(200);
  expect(audited.at(-1)).toMatchObject({ keyId: "oidc:ann", action: "POST /console/oidc/finish", status: 200 });
});

test("a sign-in that fails opens no session, and its flow is over", async () => {
  const { reply, forgotten, session } = await signInByProvider("?code=2");
  expect([reply.statusCode, reply.json<{ detail: string }>().detail, session]).toEqual([401, "start again", ""]);
  expect(forgotten).toContain("Max-Age=0");
});

test("foreign pages can neither begin nor finish a sign-in at the provider, and it begins only where it can end", async () => {
  for (const url of ["/console/oidc/start", "/console/oidc/finish"]) {
    const headers = { ...own, origin: "http://evil.test", cookie: "agentbox_sign_in=flow-of-ann" };
    const reply = await app.inject({ method: "POST", url, headers, payload: { answer: "?code=1" } });
    expect([reply.statusCode, reply.headers["set-cookie"]]).toEqual([403, undefined]);
  }
  const headers = { ...own, host: "other.test", origin: "http://other.test" };
  const elsewhere = await app.inject({ method: "POST", url: "/console/oidc/start", headers });
  expect([elsewhere.statusCode, elsewhere.json<{ detail: string }>().detail]).toEqual([
    400,
    "open the console at http://box.test to sign in this way",
  ]);
});

test("a person's session ends after its own time, and when the rules of sign-in change", async () => {
  const { session } = await signInByProvider();
  const text = session.split("=")[1] ?? "";
  const changed = (rules?: string) => new ConsoleSessions({ clock, privateKey, keys, rules }).callerOf(text);
  expect([changed("as now")?.user, changed("others"), changed()]).toEqual(["ann", undefined, undefined]);
  await clock.step(3_600_000 - 1);
  expect(await me({ cookie: session })).toBe(200);
  await clock.step(1);
  expect(await me({ cookie: session })).toBe(401);
});

const asRed = { "x-impersonate-team": "red", "x-impersonate-user": "ann" };

test("an admin begins to act as a tenant with an entry in the audit log, and has the tenant's rights where it says so", async () => {
  const { cookie } = await signIn("admin");
  const reply = await app.inject({ method: "POST", url: "/console/acting", headers: { ...own, ...asRed, cookie } });
  expect(reply.json()).toMatchObject({ caller: { role: "tenant", team: "red", user: "ann" }, isActing: true });
  expect(audited.at(-1)).toMatchObject({
    keyId: "2222222222222222",
    role: "admin",
    team: "red",
    user: "ann",
    action: "POST /console/acting",
  });
  const asked = async (headers: object) => (await app.inject({ url: "/console/session", headers: { ...own, ...headers, cookie } })).json();
  expect(await asked(asRed)).toMatchObject({ caller: { role: "tenant", team: "red" }, isActing: true });
  expect(await asked({})).toMatchObject({ caller: { role: "admin" }, isActing: false });
});

test("only an admin can act as another, from the console's own page, as a team that can be", async () => {
  const [{ cookie: red }, { cookie: admin }] = [await signIn("red"), await signIn("admin")];
  const act = async (headers: Readonly<Record<string, string>>) =>
    (await app.inject({ method: "POST", url: "/console/acting", headers: { ...own, ...asRed, ...headers } })).statusCode;
  expect(await act({ cookie: red })).toBe(403);
  expect(await act({ cookie: admin, origin: "http://evil.test" })).toBe(403);
  expect(await act({})).toBe(401);
  expect(await act({ cookie: admin, "x-impersonate-team": "", "x-impersonate-user": "" })).toBe(400);
  expect(await act({ cookie: admin, "x-impersonate-team": "no team, really" })).toBe(400);
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

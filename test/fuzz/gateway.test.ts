import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { gatewayWorld, type GatewayWorld, get, to } from "../world/gateway-world.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { attack } from "./fuzz.ts";
import { type HeadParts, oddConnection } from "./odd-heads.ts";
import { escaped, oddText } from "./odd-values.ts";
import { exchange, headerText, request } from "./raw-exchange.ts";
import { type StrictProgram, strictProgram } from "./strict-program.ts";

const canary = "what-the-other-sandbox-says";
const daemonSays = "what-a-daemon-says";
const logged = recordedLog();
let world: GatewayWorld;
let mine: StrictProgram;
let other: StrictProgram;
let daemon: StrictProgram;
let parts: HeadParts;

beforeAll(async () => {
  world = await gatewayWorld({ log: logged.log });
  [mine, daemon] = await Promise.all([strictProgram("127.0.0.1", "mine"), strictProgram("127.0.0.1", daemonSays)]);
  // At an address of its own, as every sandbox is, and on the very port that is asked for at the first.
  other = await strictProgram("127.0.0.2", canary, mine.port);
  world.sandbox("mine", { daemonPort: daemon.port });
  world.sandbox("other", { ip: "127.0.0.2", annotations: { [annotationKeys.privateTraffic]: "true" }, daemonPort: mine.port });
  world.sandbox("starting", { phase: "starting", ip: "" });
  world.sandbox("asleep", { ip: "127.0.0.2", annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00Z" } });
  world.sandbox("stopping", { ip: "127.0.0.2", phase: "stopping" });
  const route = (id: string, port: number | string): string => `E2b-Sandbox-Id: ${id}\r\nE2b-Sandbox-Port: ${port}`;
  parts = {
    hosts: ["127.0.0.1", `${mine.port}-mine.box.test`, `${mine.port}-mine-x.box.test:8443`, "localhost"],
    routes: [route("mine", mine.port), route("mine", mine.port), route("mine", 49_983), route("mine", 1), route("nobody", 80), ""],
    paths: ["/", "/second?x=y", `/sandboxes/mine/${mine.port}/x`, "/init", "/retire", "/health"],
  };
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  for (const program of [mine, other, daemon]) await program[Symbol.asyncDispose]();
});

/** Of the 5xx only 502: no such sandbox, no such port, or a program that was not to be understood. */
function expectNoFailure(text: string, statuses: readonly number[]): void {
  expect(statuses.some((status) => status >= 500 && status !== 502) ? text : "").toBe("");
  expect(text).not.toContain(canary);
  expect([mine, other, daemon].flatMap(({ complaints }) => complaints)).toEqual([]);
  expect(other.asked).toEqual([]);
  // A head of ours stands before everything that sandboxes see, so no request got past it.
  expect([...mine.asked, ...daemon.asked]).not.toContain("/smuggled");
  expect(logged.lines.filter(({ level }) => level === "error")).toEqual([]);
}

/** What the daemon would take for the control plane's. */
const internal = /^\/+(?:init|retire|freeze|unfreeze|fsfreeze|fsthaw|collapse|upgrade)(?:[/?#]|$)/i;

test("no head, however it is written, is passed on with two meanings, ends the gateway or hangs in it", async () => {
  const input = fc.nat(0).chain(() => oddConnection(parts));
  await attack("heads to the gateway", input, async (bytes) => {
    const { text, statuses } = await exchange({ port: world.server.port, bytes, cut: true });
    expectNoFailure(text, statuses);
    expect(daemon.asked.filter((path) => internal.test(path))).toEqual([]);
    return statuses;
  });
  expect((await get(world, "/", to("mine", mine.port))).body).toBe("mine");
});

test("nobody gets into another's sandbox, into one that sleeps or stops, or at the daemon's own routes", async () => {
  const id = fc.oneof(
    fc.constantFrom("other", "other", "asleep", "stopping", "starting", "OTHER", "other-mine", "mine-other", "mine,other", "other "),
    oddText,
  );
  const traffic = fc.oneof(
    fc.constantFrom(undefined, "", "traffic-mine", "traffic-othe", "traffic-otherx", "TRAFFIC-OTHER", "traffic-other, x"),
    oddText.map((text) => headerText(text).slice(0, 200)),
  );
  const route = fc.constantFrom(
    "/init",
    "/%69nit",
    "//init",
    "/x/../init",
    "/./init",
    "/init/",
    "/INIT",
    "/init?x",
    "/%2e/init",
    "/a/..%2finit",
    "/%2finit",
    "/\\init",
    "/retire",
    "/x/..//%72etire",
    "/freeze",
    "/upgrade;x",
  );
  const input = fc.record({
    id,
    traffic,
    way: fc.constantFrom("headers", "host", "path", "both"),
    port: fc.constantFrom("same", "same", "0", "-1", "65536", "080", "1e2", "49983x"),
    isInternal: fc.boolean(),
    route,
    path: escaped(oddText),
    method: fc.constantFrom("GET", "POST"),
  });
  await attack("other people's sandboxes", input, async (given) => {
    const port = given.port === "same" ? String(mine.port) : given.port;
    const name = headerText(given.id).slice(0, 200);
    const headers: (readonly [string, string])[] = given.traffic === undefined ? [] : [["E2b-Traffic-Access-Token", given.traffic]];
    if (given.way === "headers" || given.way === "both") headers.push(["E2b-Sandbox-Id", name], ["E2b-Sandbox-Port", port]);
    if (given.isInternal) headers.splice(0, headers.length, ["E2b-Sandbox-Id", "mine"], ["E2b-Sandbox-Port", "49983"]);
    const path = given.isInternal
      ? given.route
      : given.way === "path"
        ? `/sandboxes/${encodeURIComponent(given.id.toWellFormed())}/${port}/x`
        : `/${given.path}`;
    const head = request(`${given.method} ${path.replaceAll(/[\s\0]/g, "")}`, headers).toString("latin1");
    const host = given.way === "host" && !given.isInternal ? head.replace("Host: 127.0.0.1", `Host: ${port}-${name}.box.test`) : head;
    const { text, statuses } = await exchange({ port: world.server.port, bytes: [Buffer.from(host, "latin1")], cut: false });
    expectNoFailure(text, statuses);
    expect(daemon.asked.filter((one) => internal.test(one))).toEqual([]);
    return statuses;
  });
  const right = { ...to("other", mine.port), "e2b-traffic-access-token": "traffic-other" };
  expect((await get(world, "/", right)).body).toBe(canary);
});

import { describe, expect, test } from "vitest";
import { type CreateBody, createCommand } from "./create-command.ts";

const defaults = { timeoutSeconds: 300, alwaysSecure: true, maxTimeoutSeconds: 3600 };
const command = (body: Partial<CreateBody>, over = {}) => createCommand({ templateID: "base", ...body }, { ...defaults, ...over }).command;

test("what a request does not say is as the API has it", () => {
  expect(command({})).toEqual({
    from: "base",
    secure: true,
    waitMs: 45_000,
    lifetimeMs: 300_000,
    onTimeout: "kill",
    envVars: { E2B_TEMPLATE_ID: "base" },
  });
});

test("the older API leaves the token out only where that is asked for; the later one never does", () => {
  expect(command({}, { alwaysSecure: false }).secure).toBe(true);
  expect(command({ secure: true }, { alwaysSecure: false }).secure).toBe(true);
  expect(command({ secure: false }, { alwaysSecure: false }).secure).toBe(false);
  expect(command({ secure: false }, { alwaysSecure: true }).secure).toBe(true);
});

test("timeout, metadata, variables and what happens at the end are passed on", () => {
  expect(command({ timeout: 60, metadata: { a: "1" }, envVars: { B: "2" }, autoPause: true, autoResume: { enabled: true } })).toMatchObject(
    {
      lifetimeMs: 60_000,
      metadata: { a: "1" },
      envVars: { B: "2", E2B_TEMPLATE_ID: "base" },
      onTimeout: "pause",
      autoResume: true,
    },
  );
});

test("a timeout pauses without memory where the client says so", () => {
  expect(command({ autoPause: true, autoPauseMemory: false }).onTimeout).toBe("deep-pause");
  expect(command({ autoPause: true, autoPauseMemory: true }).onTimeout).toBe("pause");
});

describe("what a create is made from", () => {
  test("is an Env or pool, with the version that is behind a colon", () => {
    expect(command({ templateID: "team/base" }).from).toBe("team/base");
    expect(command({ templateID: "base:v1.2" })).toMatchObject({ from: "base", templateVersion: "v1.2" });
  });

  test.each(["base:default", "base:latest"])("%s is the version that is served", (templateID) => {
    expect(command({ templateID })).toMatchObject({ from: "base" });
    expect(command({ templateID })).not.toHaveProperty("templateVersion");
  });

  test("is any image in that Env, behind two slashes", () => {
    expect(command({ templateID: "base//reg.example:5000/team/app:1" })).toMatchObject({
      from: "base",
      image: "reg.example:5000/team/app:1",
    });
    expect(command({ templateID: "ns/base:2//python:3.12" })).toMatchObject({
      from: "ns/base",
      templateVersion: "2",
      image: "python:3.12",
    });
  });

  test.each(["base//", "//python", ":v1"])("%s names nothing and is refused", (templateID) => {
    expect(() => command({ templateID })).toThrow(/^templateID: /);
  });

  test("has a size where cpuCount and memoryMB ask for one", () => {
    expect(command({ cpuCount: 2, memoryMB: 512 })).toMatchObject({ cpu: 2, memory: 512 * 1024 * 1024 });
  });
});

describe("keys of the metadata that ask for something", () => {
  const key = (name: string): string => `agentbox.navix.sh/${name}`;

  test("are wishes and are not remembered", () => {
    const metadata = {
      a: "1",
      [key("image")]: "app:2",
      [key("scaling-group")]: "large",
      [key("instance-type")]: "cpu",
      [key("multiplier")]: "4",
      [key("startup-timeout")]: "30",
    };
    expect(command({ metadata })).toMatchObject({
      image: "app:2",
      scalingGroup: "large",
      instanceType: "cpu",
      multiplier: 4,
      startupTimeoutMs: 30_000,
      metadata: { a: "1" },
    });
    expect(command({ metadata }).metadata).toEqual({ a: "1" });
  });

  test("may say that the answer is not to wait for the start", () => {
    const create = (metadata: Record<string, string>) => createCommand({ templateID: "base", metadata }, defaults).wait;
    expect([create({}), create({ [key("no-wait")]: "true" })]).toEqual([true, false]);
  });

  test.each([
    ["multiplier", "0"],
    ["startup-timeout", "1m"],
    ["no-wait", "yes"],
    ["image", ""],
  ])("%s: %j is refused by its name", (name, value) => {
    expect(() => command({ metadata: { [key(name)]: value } })).toThrow(`metadata.${key(name)}`);
  });

  test("do not contradict the templateID", () => {
    expect(() => command({ templateID: "base//a:1", metadata: { [key("image")]: "b:1" } })).toThrow("remove one of them");
  });
});

describe("the network", () => {
  test.each<[string, Partial<CreateBody>, unknown]>([
    ["left out: as the pool has it", {}, undefined],
    ["no Internet", { allow_internet_access: false }, { internet: false, allow: [], deny: [] }],
    ["some denied", { network: { denyOut: ["8.8.8.8"] } }, { internet: true, allow: [], deny: ["8.8.8.8"] }],
    ["only these", { network: { allowOut: ["1.1.1.0/24"], denyOut: ["0.0.0.0/0"] } }, { internet: false, allow: ["1.1.1.0/24"], deny: [] }],
  ])("%s", (_, body, egress) => {
    expect(command(body).egress).toEqual(egress);
  });

  test("private traffic and a host of one's own", () => {
    expect(command({ network: { allowPublicTraffic: false, maskRequestHost: "localhost:${PORT}" } })).toMatchObject({
      privateTraffic: true,
      maskHost: "localhost:${PORT}",
    });
  });
});

describe("is refused", () => {
  test.each<[string, Partial<CreateBody>, object, string]>([
    ["a timeout beyond the limit, which is named", { timeout: 4000 }, {}, "Timeout cannot be greater than 3600 seconds"],
    [
      "private traffic without a token",
      { secure: false, network: { allowPublicTraffic: false } },
      { alwaysSecure: false },
      "requires a secured sandbox",
    ],
    ["a host that would end its header", { network: { maskRequestHost: "a\r\nX-Evil: 1" } }, {}, "network.maskRequestHost must be a host"],
    ["autoPauseMemory without autoPause", { autoPauseMemory: false }, {}, "autoPauseMemory: requires autoPause"],
    ["mcp", { mcp: {} }, {}, "AgentBox does not have this yet: mcp"],
    ["iam", { iam: {} }, {}, "iam tokens"],
    ["rules", { network: { rules: { "a.test": [] } } }, {}, "network.rules"],
    ["a proxy", { network: { egressProxy: { address: "x" } } }, {}, "network.egressProxy"],
    ["a domain", { network: { allowOut: ["api.test"] } }, {}, "by domain name"],
  ])("%s", (_, body, over, message) => {
    expect(() => command(body, over)).toThrow(message);
  });
});

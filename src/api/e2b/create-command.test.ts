import { describe, expect, test } from "vitest";
import { type CreateBody, createCommand, poolOfTemplate } from "./create-command.ts";

const defaults = { timeoutSeconds: 300, alwaysSecure: true, maxTimeoutSeconds: 3600 };
const command = (body: Partial<CreateBody>, over = {}) => createCommand({ templateID: "base", ...body }, { ...defaults, ...over });

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

test("the older API gives a token only where one is asked for", () => {
  expect(command({}, { alwaysSecure: false }).secure).toBe(false);
  expect(command({ secure: true }, { alwaysSecure: false }).secure).toBe(true);
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

test("every tag of a template is the pool as it is now", () => {
  expect(["base", "base:v1.2", "team/base", "team/base:latest"].map(poolOfTemplate)).toEqual(["base", "base", "team/base", "team/base"]);
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
    ["private traffic without a token", { network: { allowPublicTraffic: false } }, { alwaysSecure: false }, "needs a secured sandbox"],
    ["autoPauseMemory without autoPause", { autoPauseMemory: false }, {}, "a pause without memory"],
    ["mcp", { mcp: {} }, {}, "AgentBox does not have this yet: mcp"],
    ["iam", { iam: {} }, {}, "iam tokens"],
    ["volumes", { volumeMounts: [{}] }, {}, "volumeMounts"],
    ["rules", { network: { rules: { "a.test": [] } } }, {}, "network.rules"],
    ["a proxy", { network: { egressProxy: { address: "x" } } }, {}, "network.egressProxy"],
    ["a domain", { network: { allowOut: ["api.test"] } }, {}, "by domain name"],
  ])("%s", (_, body, over, message) => {
    expect(() => command(body, over)).toThrow(message);
  });
});

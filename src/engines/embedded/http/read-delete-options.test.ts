import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readDeleteOptions } from "./read-delete-options.ts";

function requestWith(body: string): IncomingMessage {
  return Object.assign(Readable.from(body === "" ? [] : [Buffer.from(body)]), { headers: {} }) as unknown as IncomingMessage;
}

describe("the body of a delete", () => {
  test("may be missing", async () => {
    expect(await readDeleteOptions(requestWith(""))).toBeUndefined();
    expect(await readDeleteOptions(requestWith(" \n"))).toBeUndefined();
  });

  test("says how, and under which conditions", async () => {
    const options = {
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      propagationPolicy: "Foreground",
      preconditions: { uid: "u1", resourceVersion: "7" },
      dryRun: ["All"],
    };
    expect(await readDeleteOptions(requestWith(JSON.stringify(options)))).toEqual({
      gracePeriodSeconds: 0,
      propagationPolicy: "Foreground",
      preconditions: { uid: "u1", resourceVersion: "7" },
      dryRun: true,
    });
  });

  test("has null for what is not asked for", async () => {
    const options = { gracePeriodSeconds: null, propagationPolicy: null, preconditions: null, dryRun: null };
    expect(await readDeleteOptions(requestWith(JSON.stringify(options)))).toEqual({});
  });

  test.each([
    ["another kind", { kind: "Pod" }, "the body of a delete is a DeleteOptions"],
    ["half a second", { gracePeriodSeconds: 0.5 }, "gracePeriodSeconds must be a whole number"],
    ["a text as a number", { gracePeriodSeconds: "1" }, "gracePeriodSeconds must be a whole number"],
    ["an unknown policy", { propagationPolicy: "Never" }, "Unsupported value"],
    ["conditions that are no object", { preconditions: ["u1"] }, "preconditions must be an object"],
    ["a number as a condition", { preconditions: { uid: 1 } }, "preconditions.uid must be a string"],
    ["half a dry run", { dryRun: ["Some"] }, "Unsupported value"],
    ["a dry run that is no list", { dryRun: "All" }, "dryRun must be a list of strings"],
  ])("with %s is refused", async (_, body, message) => {
    await expect(readDeleteOptions(requestWith(JSON.stringify(body)))).rejects.toThrow(message);
  });
});

import { describe, expect, test } from "vitest";
import { BuildFailure } from "./build-failure.ts";
import { readStep, type WireStep } from "./build-step.ts";

const hash = "0a".repeat(32);

function refusal(step: WireStep): string {
  try {
    readStep(step, 3);
  } catch (error) {
    if (!(error instanceof BuildFailure) || error.step !== 3) throw error;
    return error.message;
  }
  throw new Error("the step was taken");
}

describe("steps as clients send them", () => {
  test("empty arguments are not set", () => {
    expect(readStep({ type: "COPY", args: ["a", "b", "", ""], filesHash: hash }, 1)).toEqual({
      kind: "copy",
      source: "a",
      target: "b",
      filesHash: hash,
    });
    expect(readStep({ type: "RUN", args: ["ls", ""] }, 1)).toEqual({ kind: "run", command: "ls" });
  });

  test("an owner without a group has the group of its name", () => {
    const owned = { type: "COPY", args: ["a", "b", "app", "0640"], filesHash: hash };
    expect(readStep(owned, 1)).toMatchObject({ owner: "app:app", mode: "0640" });
    expect(readStep({ ...owned, args: ["a", "b", "app:www"] }, 1)).toMatchObject({ owner: "app:www" });
  });

  test.each([
    [{ type: "ENV", args: ["A", "1", "B"] }, "step 3 (ENV): takes names and values in pairs, not 3 arguments"],
    [{ type: "ENV", args: ["A-B", "1"] }, 'step 3 (ENV): "A-B" is no name of a variable'],
    [{ type: "ENV", args: ["__proto__", "1"] }, 'step 3 (ENV): "__proto__" is no name of a variable'],
    [{ type: "COPY", args: ["a", "b"] }, "step 3 (COPY): needs filesHash, 64 lower-case hexadecimal digits"],
    [{ type: "COPY", args: ["a", "b", "", "9"], filesHash: hash }, 'step 3 (COPY): mode "9" must be octal, such as 0755'],
    [{ type: "USER", args: ["a b"] }, 'step 3 (USER): "a b" is no name of a user'],
    [{ type: "USER", args: ["--help"] }, 'step 3 (USER): "--help" is no name of a user'],
    [{ type: "RUN", args: [" "] }, "step 3 (RUN): takes a command, and perhaps a user"],
    [{ type: "WORKDIR", args: [] }, "step 3 (WORKDIR): takes one argument"],
    [{ type: "RUN", args: ["a\0b"] }, "step 3 (RUN): an argument has a zero byte in it"],
    [{ type: "toString" }, "step 3 (toString): is no type of step; there are COPY, RUN, WORKDIR, USER, ENV"],
  ] as const)("what is wrong is said with the number of the step: %j", (step, message) => {
    expect(refusal(step)).toBe(message);
  });
});

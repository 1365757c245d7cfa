import { describe, expect, test } from "vitest";
import { ClientError } from "#client/client-error.ts";
import { ApiError } from "#kube/api-error.ts";
import { CliError, ManyErrors, throwCollected } from "./failure.ts";
import { failureText, NoPrefix } from "./failure-text.ts";

const cause = (field: string, message: string): { field: string; reason: string; message: string } => ({
  field,
  reason: "FieldValueInvalid",
  message,
});
const invalid = (...causes: ReturnType<typeof cause>[]): ApiError =>
  new ApiError("Invalid", "long", { kind: "SandboxPool", name: "py", causes });

describe("a failure", () => {
  test.each([
    [new ApiError("NotFound", 'pods "x" not found'), 'Error from server (NotFound): pods "x" not found\n'],
    [new ApiError("Unknown", "odd"), "Error from server: odd\n"],
    [new ApiError("Unauthorized", "who?"), "error: You must be logged in to the server (who?)\n"],
    [
      new ApiError("Unreachable", "refused"),
      "Unable to connect to the server: refused\nAgentBox has stopped or was restarted. Start it with: make up. agentbox doctor finds out what is wrong\n",
    ],
    [new CliError("no such file"), "error: no such file\n"],
    [new CliError("error: once"), "error: once\n"],
    [new NoPrefix("AgentBox is not running"), "AgentBox is not running\n"],
    [invalid(cause("spec.a", "bad")), 'The SandboxPool "py" is invalid: spec.a: bad\n'],
    [
      invalid(cause("spec.a", "bad"), cause("spec.b", "worse"), cause("spec.a", "bad")),
      'The SandboxPool "py" is invalid: \n* spec.a: bad\n* spec.b: worse\n',
    ],
    [invalid(), 'The SandboxPool "py" is invalid\n'],
    [new ApiError("Invalid", "no patch"), "The request is invalid: no patch\n"],
    [
      new ManyErrors([new CliError("a"), new ApiError("NotFound", "b"), invalid(cause("x", "y"))]),
      "a\nError from server (NotFound): b\nError from server (Invalid): long\n",
    ],
  ])("is printed in kubectl's words: %s", (error, text) => {
    expect(failureText(error)).toBe(text);
  });

  test("that is a bug is printed in one line, and with its stack only on request", () => {
    const defect = new TypeError("x is not\n  a function");
    const line = "this is a bug in AgentBox: TypeError: x is not a function; set AGENTBOX_DEBUG=1 to see the stack\n";
    expect(failureText(defect)).toBe(`error: ${line}`);
    expect(failureText(defect, { debug: true })).toMatch(/^error: TypeError: x is not\n {2}a function\n +at /);
    expect(failureText("thrown text")).toBe("error: this is a bug in AgentBox: thrown text; set AGENTBOX_DEBUG=1 to see the stack\n");
    expect(failureText(new ManyErrors([new CliError("a"), defect]))).toBe(`a\n${line}`);
  });

  test("of the system is printed in the system's words", () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { syscall: "write" });
    expect(failureText(full)).toBe("error: ENOSPC: no space left on device, write\n");
  });

  test("of the connection that several things ran into is explained once", () => {
    const cut = new ApiError("Unreachable", "cut");
    const line = "Unable to connect to the server: cut\n";
    expect(failureText(new ManyErrors([cut, cut]))).toBe(
      `${line}${line}AgentBox has stopped or was restarted. Start it with: make up. agentbox doctor finds out what is wrong\n`,
    );
  });
});

describe("collected failures", () => {
  test("are nothing, the one, or many", () => {
    const one = new CliError("one");
    expect(() => throwCollected([])).not.toThrow();
    expect(() => throwCollected([one])).toThrow(one);
    expect(() => throwCollected([one, one])).toThrow(ManyErrors);
  });
});

test("a shortage of an Env is told without the command that sizes single pools", () => {
  const pool = { idle: 0, starting: 1, running: 3, stopping: 0, waiting: 2 };
  const error = new ClientError("no_capacity", "no pod of Env base became free", { details: { pool, env: "base" } });
  expect(failureText(error)).toBe(
    "error: no pod of Env base became free; the pools of Env base have 0 idle pods, 1 starting, 3 running, 0 stopping, and 2 requests wait\n",
  );
});

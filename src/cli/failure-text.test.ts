import { describe, expect, test } from "vitest";
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
    [new ApiError("Unreachable", "refused"), "Unable to connect to the server: refused\n"],
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
  ])("is told in kubectl's words: %s", (error, text) => {
    expect(failureText(error)).toBe(text);
  });

  test("that is a defect is told with its stack", () => {
    expect(failureText(new TypeError("x is not a function"))).toMatch(/^error: TypeError: x is not a function\n +at /);
    expect(failureText("thrown text")).toBe("error: thrown text\n");
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

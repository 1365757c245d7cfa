import { describe, expect, test } from "vitest";
import { InvalidBody, parseAction, parseClose, parseCommand, parseCreate } from "./requests.ts";

function refusedField(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof InvalidBody) return `${error.field}: ${error.message}`;
    throw error;
  }
  throw new Error("the body was accepted");
}

describe("a request of SWE-ReX's client", () => {
  test("has the defaults of the original server where it says nothing", () => {
    expect(parseCreate({})).toEqual({ session: "default", sources: [], timeoutMs: 1000 });
    expect(parseClose({})).toBe("default");
    expect(parseAction({ command: "ls" })).toEqual({
      kind: "bash",
      session: "default",
      expect: [],
      command: "ls",
      timeoutMs: undefined,
      isInteractiveCommand: false,
      isInteractiveQuit: false,
      check: "raise",
      errorMessage: "",
    });
    expect(parseAction({ action_type: "bash_interrupt" })).toEqual({
      kind: "interrupt",
      session: "default",
      expect: [],
      timeoutMs: 200,
      tries: 3,
    });
  });

  test("gives its times in seconds", () => {
    expect(parseCreate({ startup_timeout: 2.5 }).timeoutMs).toBe(2500);
    expect(parseCommand({ command: "ls", timeout: 0 }).timeoutMs).toBe(0);
  });

  test("takes null for a field that is left out", () => {
    expect(parseCommand({ command: ["ls", "-l"], timeout: null, env: null, cwd: null })).toMatchObject({
      command: ["ls", "-l"],
      timeoutMs: undefined,
      env: undefined,
      cwd: undefined,
    });
  });

  test.each([
    ["no object", () => parseAction("ls"), "body: Input should be a valid dictionary"],
    ["a list", () => parseAction([]), "body: Input should be a valid dictionary"],
    ["no command", () => parseAction({}), "command: Field required"],
    ["a number as its command", () => parseAction({ command: 1 }), "command: Input should be a valid string"],
    ["words that are no texts", () => parseCommand({ command: ["ls", 1] }), "command: Input should be a valid list of strings"],
    ["a text as a flag", () => parseCommand({ command: "ls", shell: "yes" }), "shell: Input should be a valid boolean"],
    ["a time below zero", () => parseCommand({ command: "ls", timeout: -1 }), "timeout: Input should be greater than or equal to 0"],
    ["half a try", () => parseAction({ action_type: "bash_interrupt", n_retry: 0.5 }), "n_retry: Input should be a valid integer"],
    ["another shell", () => parseCreate({ session_type: "zsh" }), "session_type: Input should be 'bash'"],
    ["an unknown check", () => parseAction({ command: "ls", check: "maybe" }), "check: Input should be 'silent' or 'raise' or 'ignore'"],
    [
      "a variable that is no text",
      () => parseCommand({ command: "ls", env: { A: 1 } }),
      "env: Input should be a valid dictionary of strings",
    ],
  ])("with %s is refused, with the field", (_, parse, message) => {
    expect(refusedField(parse)).toBe(message);
  });
});

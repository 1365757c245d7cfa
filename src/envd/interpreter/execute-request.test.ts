import fc from "fast-check";
import { expect, test } from "vitest";
import { parseContext, parseExecute } from "./execute-request.ts";

test("code runs in Python unless the request says where", () => {
  expect(parseExecute({ code: "1" })).toEqual({ code: "1", env: {}, in: { language: "python" } });
  expect(parseExecute({ code: "1", language: null, context_id: null, env_vars: null })).toEqual({
    code: "1",
    env: {},
    in: { language: "python" },
  });
  expect(parseExecute({ code: "1", language: "TS" })).toMatchObject({ in: { language: "typescript" } });
  expect(parseExecute({ code: "1", context_id: "c", env_vars: { A: "b" } })).toEqual({
    code: "1",
    env: { A: "b" },
    in: { contextId: "c" },
  });
});

test.each([
  [{}, "code must be a text"],
  [{ code: "1", language: "js", context_id: "c" }, "Only one of context_id or language can be provided"],
  [{ code: "1", context_id: 5 }, "context_id must be a text"],
  [{ code: "1", language: "r" }, 'the language "r" is not known here; there are python, javascript, typescript, bash'],
  [{ code: "1", language: "constructor" }, 'the language "constructor" is not known here; there are python, javascript, typescript, bash'],
  [{ code: "1", env_vars: { A: 1 } }, "env_vars must be an object of texts"],
  [{ code: "1", env_vars: { "A=B": "" } }, expect.stringContaining("without =")],
])("%j is refused", (body, problem) => {
  expect(parseExecute(body)).toEqual(problem);
});

test("contexts are Python in the usual folder unless the request says otherwise", () => {
  expect(parseContext({})).toEqual({ language: "python", cwd: undefined });
  expect(parseContext({ language: "js", cwd: "/tmp" })).toEqual({ language: "javascript", cwd: "/tmp" });
  expect(parseContext({ cwd: 5 })).toBe("cwd must be a path");
});

test("no body is a crash", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      for (const parse of [parseExecute, parseContext]) expect(["string", "object"]).toContain(typeof parse(body));
    }),
  );
});

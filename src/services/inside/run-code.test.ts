import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InsideScene, pieces } from "../../../test/world/inside-scene.ts";
import { ann, failureOf } from "../../../test/world/service-scene.ts";

let world: InsideScene;
const { signal } = new AbortController();

beforeEach(async () => {
  world = await InsideScene.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe("code", () => {
  const container = { env: [{ name: "AGENTBOX_INTERPRETER_PORT", value: "49999" }] };
  const code = { code: "x", language: "python", env: { A: "1" } };
  const lines = (...events: readonly object[]): string => events.map((one) => `${JSON.stringify(one)}\n`).join("");

  test("code is run at the interpreter's port, and shows what it wrote, its values and its error", async () => {
    await world.services.sandbox("i-1", { container });
    const text = lines(
      { type: "stdout", text: "é" },
      { type: "stdout", text: "2" },
      { type: "stderr", text: "warn" },
      { type: "result", text: "21", png: "AA==" },
      { type: "error", name: "E", value: "v", traceback: "t" },
      { type: "end_of_execution" },
    );
    world.answer = () => ({ body: pieces(...[...Buffer.from(text)].map((byte) => Buffer.from([byte]))) });
    expect(await world.inside.runCode(ann, "i-1", code, signal)).toEqual({
      stdout: "é2",
      stderr: "warn",
      truncated: false,
      results: [{ text: "21", png: "AA==" }],
      error: { name: "E", value: "v", traceback: "t" },
    });
    expect(world.asked[0]).toMatchObject({ at: { port: 49_999 }, path: "/execute" });
    expect(JSON.parse(String(world.asked[0]?.body))).toEqual({ code: "x", language: "python", env_vars: { A: "1" } });
  });

  test("a sandbox without an interpreter says where there is one", async () => {
    await world.services.sandbox("i-1");
    const failure = await failureOf(world.inside.runCode(ann, "i-1", code, signal));
    expect(failure).toMatchObject({ code: "invalid_request", message: expect.stringContaining("code-interpreter-v1") });
  });

  test("an interpreter that ends before the code did is unavailable, and one that writes without end is left", async () => {
    await world.services.sandbox("i-1", { container });
    world.answer = () => ({ body: lines({ type: "stdout", text: "a" }) });
    expect(await failureOf(world.inside.runCode(ann, "i-1", code, signal))).toMatchObject({ code: "unavailable" });
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) yield Buffer.from(lines({ type: "stdout", text: "x".repeat(1024 * 1024) }));
    }
    world.answer = () => ({ body: endless() });
    expect(await world.inside.runCode(ann, "i-1", code, signal)).toMatchObject({ truncated: true });
  });

  test("an interpreter that writes a line without end is left, too", async () => {
    await world.services.sandbox("i-1", { container });
    let given = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (; given < 1000; given++) yield Buffer.alloc(1024 * 1024, "x");
    }
    world.answer = () => ({ body: endless() });
    expect(await world.inside.runCode(ann, "i-1", code, signal)).toMatchObject({ truncated: true });
    expect(given).toBeLessThan(20);
  });

  test.each(["no event", "null", "7"])("an interpreter that answers %j has failed, and is no defect of ours", async (line) => {
    await world.services.sandbox("i-1", { container });
    world.answer = () => ({ body: `${line}\n` });
    expect(await failureOf(world.inside.runCode(ann, "i-1", code, signal))).toMatchObject({ code: "unavailable" });
  });
});

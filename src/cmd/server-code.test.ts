import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { serverFlags } from "./server-code.ts";

const run = promisify(execFile);

test("the V8 of our Node knows every flag that servers set", async () => {
  const { stdout } = await run(process.execPath, ["--v8-options"]);
  const unknown = serverFlags.filter((flag) => !stdout.includes(`  ${flag.split("=")[0]} (`));
  expect(unknown).toEqual([]);
});

/** Calls a function so often, and says whether it is fast then. */
const program = `
  const { prepareServerCode } = await import(${JSON.stringify(import.meta.resolve("./server-code.ts"))});
  if (process.argv[1] === "server") prepareServerCode();
  const sum = new Function("list", "let all = 0; for (const one of list) all += one; return all;");
  for (let call = 0; call < 200; call++) sum([call, 1]);
  console.log(new Function("sum", "return %ActiveTierIsMaglev(sum)")(sum));
`;

async function isFast(kind: "server" | "command"): Promise<string> {
  const flags = ["--allow-natives-syntax", "--no-concurrent-recompilation", "--input-type=module"];
  const { stdout } = await run(process.execPath, [...flags, "--eval", program, kind]);
  return stdout.trim();
}

test("what a server does 200 times is compiled for speed by then, as in no other program", async () => {
  expect([await isFast("server"), await isFast("command")]).toEqual(["true", "false"]);
});

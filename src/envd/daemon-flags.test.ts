import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { daemonFlags } from "#model/daemon-command.ts";

const run = promisify(execFile);

/** Has a process collect and then load a module of Node's own; names those for which the compiled code that Node brings was refused. */
const program = `
  const { collectGarbage } = await import(${JSON.stringify(import.meta.resolve("./idle-memory.ts"))});
  collectGarbage();
  await import("node:http");
  const { internalBinding } = process.getBuiltinModule("node:module").createRequire("/")("internal/test/binding");
  console.log(JSON.stringify([...internalBinding("builtins").getCacheUsage().compiledWithoutCache]));
`;

async function compiledAnew(flags: readonly string[]): Promise<unknown> {
  const internals = ["--expose-internals", "--no-warnings", "--input-type=module"];
  const { stdout } = await run(process.execPath, [...flags, ...internals, "--eval", program]);
  return JSON.parse(stdout);
}

test("neither the daemon's flags nor its collector cost it the compiled code of Node's own modules", async () => {
  expect(await compiledAnew(daemonFlags)).toEqual([]);
});

test("a flag like --expose-gc would", async () => {
  expect(await compiledAnew([...daemonFlags, "--expose-gc"])).not.toEqual([]);
});

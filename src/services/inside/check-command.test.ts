import { expect, test } from "vitest";
import { checkCommand } from "./check-command.ts";

const most = 128 * 1024;

test("what Linux takes passes", () => {
  expect(() => checkCommand({ argv: ["x".repeat(most - 1)], env: { A: "x".repeat(most - 3) } })).not.toThrow();
});

test.each([
  [
    { argv: ["ls", "x".repeat(most)] },
    "command[1]",
    "command[1] has 131072 bytes; Linux takes 131071 of an argument. Send it as the command's input",
  ],
  [
    { argv: ["ls"], env: { A: "ü".repeat(most / 2) } },
    "env.A",
    "env.A has 131072 bytes; Linux takes 131069 of a variable of this name. Put it into a file",
  ],
  [{ argv: ["ls\0"] }, "command[0]", "command[0] has NUL in it"],
  [{ argv: ["ls"], env: { A: "\0" } }, "env.A", "env.A has NUL in its value"],
  [
    { argv: Array.from({ length: 20 }, () => "x".repeat(100_000)) },
    "command",
    "the command and its environment have 2000020 bytes; there may be 1048576",
  ],
])("more is refused with the place (%#)", (command, field, message) => {
  expect(() => checkCommand(command)).toThrow(expect.objectContaining({ code: "invalid_request", details: { field }, message }));
});

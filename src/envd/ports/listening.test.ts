import { expect, test } from "vitest";
import { loopbackPorts } from "./listening.ts";

const line = (address: string, port: number, state = "0A") =>
  `   0: ${address}:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 ${state} 0 0 0`;

test("ports on the loopback only are found; those that others reach too are not, nor connections", () => {
  const four = [
    line("0100007F", 8000),
    line("00000000", 9000),
    line("0100007F", 9000),
    line("0100007F", 7000, "01"),
    line("0501A8C0", 6000),
  ].join("\n");
  const six = [line("00000000000000000000000001000000", 5000), line("00000000000000000000000001000000", 8000)].join("\n");
  expect([...loopbackPorts([`head\n${four}\n`, six])]).toEqual([
    [8000, "127.0.0.1"],
    [5000, "::1"],
  ]);
});

import { expect, test } from "vitest";
import { checkBatch, checkCreate, createLimits } from "./check-create.ts";

const check = (maskHost: string) => () => checkCreate({ from: "base", maskHost });

test.each(["localhost", "localhost:${PORT}", "app-${PORT}.example.com", "example.com:8080", "127.0.0.1:${PORT}", "[::1]:3000", "a_b.test"])(
  "%s is a host that programs may see",
  (host) => {
    expect(check(host)).not.toThrow();
  },
);

test.each([
  ["", "nothing"],
  ["a\r\nX-Evil: 1", "a line break"],
  ["a\nb", "a bare line break"],
  ["a\0b", "NUL"],
  ["a b", "a space"],
  ["a..b", "a name with a hole"],
  ["-a.test", "a name that begins with a dash"],
  ["example.com:0", "port 0"],
  ["example.com:65536", "a port beyond the last"],
  ["[1:2]", "no address"],
  ["${PORT}${HOST}", "another placeholder"],
  ["user@example.com", "a user"],
  ["example.com/path", "a path"],
  ["example.com:port", "a port that is none"],
  ["bücher.example", "letters beyond ASCII"],
  ["a".repeat(256), "too much"],
  [`${"a.".repeat(100_000)}!`, "far too much"],
])("%j is refused as a host: %s", (host) => {
  expect(check(host)).toThrow(/^maskHost must be a host name or address/);
});

const { startupTimeout, idleTimeout, lifetime, envVarsSize, batch } = createLimits;

test.each([
  ["startupTimeoutMs", startupTimeout],
  ["idleTimeoutMs", idleTimeout],
  ["lifetimeMs", lifetime],
])("%s has bounds", (field, { min, max }) => {
  for (const ms of [min, max]) expect(() => checkCreate({ from: "base", [field]: ms })).not.toThrow();
  for (const ms of [min - 1, max + 1, Number.NaN, Infinity]) expect(() => checkCreate({ from: "base", [field]: ms })).toThrow(field);
});

test("environment variables have a size that a daemon can take", () => {
  const empty = Buffer.byteLength(JSON.stringify({ A: "", B: "", C: "", D: "", E: "" }));
  const sized = (total: number) => {
    const [each, rest] = [Math.floor((total - empty) / 5), (total - empty) % 5];
    return { A: "x".repeat(each + rest), B: "x".repeat(each), C: "x".repeat(each), D: "x".repeat(each), E: "x".repeat(each) };
  };
  expect(() => checkCreate({ from: "base", envVars: sized(envVarsSize) })).not.toThrow();
  expect(() => checkCreate({ from: "base", envVars: sized(envVarsSize + 1) })).toThrow("envVars");
});

test("one variable has the size that Linux takes", () => {
  expect(() => checkCreate({ from: "base", envVars: { A: "x".repeat(128 * 1024 - 3) } })).not.toThrow();
  expect(() => checkCreate({ from: "base", envVars: { A: "x".repeat(200_000) } })).toThrow(
    "envVars.A has 200000 bytes; Linux takes 131069",
  );
});

test("a batch has a size, and at least as many as are wanted at least", () => {
  expect(checkBatch({ count: batch })).toBe(batch);
  for (const count of [0, -1, 1.5, batch + 1, Number.NaN]) expect(() => checkBatch({ count })).toThrow("count");
  for (const atLeast of [0, 3, 1.5]) expect(() => checkBatch({ count: 2, atLeast })).toThrow("atLeast");
});

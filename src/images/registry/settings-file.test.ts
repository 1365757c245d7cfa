import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRegistryFile } from "./settings-file.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-registries-"));
  writeFileSync(join(folder, "ca.pem"), "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(content: unknown): ReturnType<typeof readRegistryFile> {
  const path = join(folder, "registries.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return readRegistryFile(path);
}

test("no file is no settings", async () => {
  expect(await readRegistryFile(join(folder, "nothing.json"))).toEqual({ settings: {}, certificates: [] });
});

test("mirrors, registries without TLS and certificates are read", async () => {
  const settings = { mirrors: { "docker.io": ["mirror.example"] }, plainHttp: ["registry.example:5000"], tls: ["localhost:5001"] };
  const file = await read({ ...settings, certificates: ["ca.pem"] });
  expect(file.settings).toEqual(settings);
  expect(file.certificates).toEqual([expect.stringContaining("BEGIN CERTIFICATE")]);
});

test.each([
  ["text that is not JSON", "{", /is not JSON/],
  ["an unknown setting", { mirror: {} }, /mirror is not known/],
  ["a mirror without a list", { mirrors: { "docker.io": "mirror.example" } }, /mirrors\.docker\.io/],
  ["a mirror that cannot be meant", { mirrors: { "docker.io": ["ftp://x"] } }, /neither a host nor/],
  ["a certificate that is none", { certificates: ["registries.json"] }, /does not hold a certificate/],
])("%s is refused, with the place", async (_what, content, reason) => {
  const reading = read(content);
  await expect(reading).rejects.toMatchObject({ code: "invalid_config" });
  await expect(reading).rejects.toThrow(reason);
});

test("a file that cannot be read is told", async () => {
  await expect(readRegistryFile(folder)).rejects.toThrow(/cannot be read/);
});

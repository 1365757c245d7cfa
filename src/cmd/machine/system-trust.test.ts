import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localCertificates } from "#gateway/local-certificates.ts";
import { systemClock } from "#lib/clock.ts";
import { signedByItself } from "../../../test/world/own-authority.ts";
import { systemTrust } from "./system-trust.ts";

const systems = [
  ["Debian's", "usr/local/share/ca-certificates", "etc/ssl/certs/ca-certificates.crt", ["update-ca-certificates"]],
  ["Fedora's", "etc/pki/ca-trust/source/anchors", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", ["update-ca-trust", "extract"]],
] as const;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "agentbox-trust-"));
  await mkdir(join(root, "certificates"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** A system whose own program puts whatever is in the folder into the list. */
async function system(folder: string, bundle: string, update: (file: string) => Promise<void> = async () => {}) {
  await mkdir(join(root, folder), { recursive: true });
  await mkdir(join(root, bundle, ".."), { recursive: true });
  await writeFile(join(root, bundle), "# others\n");
  const ran: (readonly string[])[] = [];
  const run = async (program: string, args: readonly string[]): Promise<void> => {
    ran.push([program, ...args]);
    await writeFile(join(root, bundle), "# others\n");
    for (const name of await readdir(join(root, folder))) await update(join(root, folder, name));
  };
  const open = () => systemTrust({ home: join(root, "home"), certificateFolder: join(root, "certificates"), root, isRoot: true, run });
  return { ran, open };
}

test.each(systems)(
  "in %s list an authority is installed once, found, and removed with nothing left",
  async (name, folder, bundle, update) => {
    await localCertificates(join(root, "certificates"), "box.test", systemClock);
    const { ran, open } = await system(folder, bundle, async (file) => appendFile(join(root, bundle), await readFile(file)));
    const { store } = await open();
    expect([store?.name, store?.bundle, await store?.isInstalled()]).toEqual([name, join(root, bundle), false]);
    await store?.install();
    await store?.install();
    expect([await store?.isInstalled(), ran]).toEqual([true, [[...update], [...update]]]);
    expect(await readdir(join(root, folder))).toEqual([expect.stringMatching(/^agentbox-[0-9a-f]{6}\.crt$/)]);
    expect([await store?.remove(), await store?.remove(), await store?.isInstalled()]).toEqual([true, false, false]);
    expect(await readdir(join(root, folder))).toEqual([]);
  },
);

test("a program that does not do what it should is noticed", async () => {
  await localCertificates(join(root, "certificates"), "box.test", systemClock);
  const [[, folder, bundle]] = systems;
  const { store } = await (await system(folder, bundle)).open();
  await expect(store?.install()).rejects.toThrow("update-ca-certificates has run, and the authority is not in");
});

test("an authority that is good for every name, of an earlier AgentBox, is not installed", async () => {
  await writeFile(join(root, "certificates/authority.crt"), (await signedByItself("AgentBox of old")).cert);
  const [[, folder, bundle]] = systems;
  const { ran, open } = await system(folder, bundle);
  await expect((await open()).store?.install()).rejects.toThrow("start AgentBox once, which makes it anew");
  expect([ran, await readdir(join(root, folder))]).toEqual([[], []]);
});

test("a system of another kind has no list, and a new folder no authority", async () => {
  const trust = await systemTrust({ home: root, certificateFolder: join(root, "certificates"), root, isRoot: true });
  expect(trust).toEqual({ authorityFile: undefined, store: undefined });
});

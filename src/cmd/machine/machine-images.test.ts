/** The image commands on a real store. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { asEntries, ociLayout } from "../../../test/world/image-archive.ts";
import { useImageBench } from "../../../test/world/image-bench.ts";
import { imageOf } from "../../../test/world/image-fixture.ts";
import { inChunks, tarArchive } from "../../../test/world/layer-archive.ts";
import { asRoot } from "../../../test/world/layer-folder.ts";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { systemClock } from "#lib/clock.ts";
import { machineImages } from "./machine-images.ts";

const bench = useImageBench();
const app = imageOf([[{ name: "app", content: "x" }]]);
const archive = tarArchive(
  asEntries(ociLayout([{ image: app, annotations: { "io.containerd.image.name": "docker.io/library/piped:1" } }])),
);

let home: { folder: string };
beforeEach(() => {
  home = { folder: join(bench.folder, "home") };
  mkdirSync(home.folder);
});

function image(...argv: string[]): Promise<Said> {
  const images = (): ReturnType<typeof machineImages> => machineImages({ home, clock: systemClock, stdin: inChunks(archive, 1000) });
  return agentbox(["image", ...argv], { images });
}

describe.skipIf(!asRoot)("on a real store", () => {
  test("an image is pulled, listed and removed", async () => {
    bench.registry.add("app", "1", app);
    const name = `${bench.registry.host}/app:1`;
    const refused = await image("pull", name);
    expect(refused.stderr).toMatch(/cannot be reached or is not allowed \(.*must stand in "private" of registries\.json\)/);
    writeFileSync(join(home.folder, "registries.json"), JSON.stringify({ private: [bench.registry.host] }));
    expect(await image("pull", name)).toMatchObject({ stdout: `${name} pulled: ${app.digest}\n`, code: 0 });
    const [listed] = JSON.parse((await image("ls", "-o", "json")).stdout) as unknown[];
    expect(listed).toMatchObject({ name, digest: app.digest, id: app.id, source: "registry" });
    expect(await image("gc")).toMatchObject({ stdout: expect.stringMatching(/^\d+B freed/) as string, code: 0 });
    expect((await image("rm", name)).stdout).toMatch(/removed, 4(\.\d)?kB freed/);
    expect((await image("ls")).stdout).toBe("No images on this machine\n");
  });

  test("an image comes through standard input, or from a folder", async () => {
    expect((await image("import", "-")).stdout).toBe(`piped:1 imported: ${app.digest}\n`);
    mkdirSync(join(bench.folder, "root"));
    expect((await image("import", "--rootfs", join(bench.folder, "root"), "--name", "mine", "--", "/bin/sh")).stdout).toMatch(
      /^mine:latest imported: sha256:/,
    );
    expect((await image("ls")).stdout.split("\n").length).toBe(4);
  });

  test("mirrors of the data folder are used", async () => {
    bench.registry.add("team/app", "1", app);
    writeFileSync(join(home.folder, "registries.json"), JSON.stringify({ mirrors: { "registry.example": [bench.registry.host] } }));
    expect((await image("pull", "registry.example/team/app:1")).stdout).toBe(`registry.example/team/app:1 pulled: ${app.digest}\n`);
  });
});

test.each([
  [["pull", "Bad"], /^error: "Bad" is not an image reference/],
  [["pull", "alpine", "--platform", "x"], /^error: "x" is not a platform/],
  [["pull", "host"], /^error: host is the machine itself; there is nothing to pull/],
  [["rm", "none"], /^error: docker\.io\/library\/none:latest is not on this machine/],
  [["import", "/no/such/file"], /^error: \/no\/such\/file does not exist/],
])("image %j fails with words, not with a stack", async (argv, stderr) => {
  const said = await image(...argv);
  expect(said.code).toBe(1);
  expect(said.stderr).toMatch(stderr);
  expect(said.stderr).not.toContain("    at ");
});

test("settings that cannot be read are told", async () => {
  writeFileSync(join(home.folder, "registries.json"), "{");
  expect((await image("ls")).stderr).toMatch(/registries\.json is not JSON/);
});

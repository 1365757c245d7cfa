import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { CliError } from "../failure.ts";
import type { MachineImage, MachineImages } from "../machine-images.ts";

const clock = new SteppedClock();
const minute = 60_000;

function anImage(shortName: string, more: Partial<MachineImage> = {}): MachineImage {
  const digest = `sha256:${"d".repeat(64)}`;
  const [since, lastUsed] = [clock.now() - 90 * minute, clock.now() - 5 * minute];
  const id = `sha256:${"1".repeat(64)}`;
  return {
    name: `docker.io/library/${shortName}`,
    shortName,
    digest,
    id,
    platform: "linux/amd64",
    source: "registry",
    bytes: 23_400_000,
    since,
    lastUsed,
    ...more,
  };
}

/** What was asked of the images, with their last argument. */
let asked: unknown[][];
let folder: string;
beforeEach(() => {
  asked = [];
  folder = mkdtempSync(join(tmpdir(), "agentbox-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function image(argv: readonly string[], having: Partial<MachineImages> = {}): Promise<Said> {
  const layer = { layer: `sha256:${"a".repeat(64)}`, bytes: 0, total: 100 };
  const images: MachineImages = {
    list: async () => [],
    pull: async (reference, options) => {
      asked.push(["pull", reference, { ...options, onProgress: undefined, signal: undefined }]);
      options.onProgress({ ...layer, state: "downloading" });
      return anImage(reference);
    },
    import: async (source, options) => {
      asked.push(["import", source, { ...options, onProgress: undefined, signal: undefined }]);
      return [anImage(options.name ?? "app:1")];
    },
    importRootfs: async (root, options) => {
      asked.push(["rootfs", root, { ...options, onProgress: undefined, signal: undefined, onSkipped: undefined }]);
      options.onSkipped("dev/null");
      return [anImage(options.name)];
    },
    export: async (reference, to) => {
      asked.push(["export", reference, to]);
    },
    remove: async (reference) => {
      asked.push(["remove", reference]);
      if (reference === "missing") throw new CliError("missing is not on this machine");
      return { images: [reference], freedBytes: 1500, keptBytes: 0 };
    },
    collect: async (options) => {
      asked.push(["collect", { ...options, signal: undefined }]);
      return { images: ["app:1", "app:2"], freedBytes: 2_000_000, keptBytes: 500 };
    },
    [Symbol.asyncDispose]: async () => void asked.push(["closed"]),
    ...having,
  };
  return agentbox(["image", ...argv], { images: async () => images, clock, cwd: folder });
}

describe("image ls", () => {
  test("shows a line for each image", async () => {
    const list = async (): Promise<MachineImage[]> => [anImage("alpine:3"), anImage("mine:latest", { source: "import", bytes: 0 })];
    expect(await image(["ls"], { list })).toEqual({
      stdout:
        "NAME          ID             PLATFORM      SIZE     FROM       AGE   USED\n" +
        "alpine:3      111111111111   linux/amd64   23.4MB   registry   90m   5m ago\n" +
        "mine:latest   111111111111   linux/amd64   0B       import     90m   5m ago\n",
      stderr: "",
      code: 0,
    });
    expect(asked).toEqual([["closed"]]);
  });

  test("says when there is none", async () => {
    expect((await image(["ls"])).stdout).toBe("No images on this machine\n");
    expect((await image(["ls", "-o", "json"])).stdout).toBe("[]\n");
  });

  test("gives programs everything", async () => {
    const { stdout } = await image(["ls", "-o", "json"], { list: async () => [anImage("alpine:3")] });
    expect(JSON.parse(stdout)).toMatchObject([
      { name: "docker.io/library/alpine:3", bytes: 23_400_000, lastUsed: new Date(clock.now() - 5 * minute).toISOString() },
    ]);
  });
});

test("image export writes an image into a folder for other tools", async () => {
  expect(await image(["export", "mine:1", "/tmp/layout"])).toMatchObject({ code: 0, stdout: "mine:1 written to /tmp/layout\n" });
  expect(asked[0]).toEqual(["export", "mine:1", "/tmp/layout"]);
  expect(await image(["export", "mine:1"])).toMatchObject({ code: 2, stderr: expect.stringContaining("an image and a folder") });
});

describe("image pull", () => {
  test("fetches one after the other, with progress beside the result", async () => {
    const said = await image(["pull", "alpine:3", "busybox", "--platform", "linux/arm64"]);
    expect(said.stdout).toBe(`alpine:3 pulled: sha256:${"d".repeat(64)}\nbusybox pulled: sha256:${"d".repeat(64)}\n`);
    expect(said.stderr).toBe("aaaaaaaaaaaa: downloading 100B\n".repeat(2));
    expect(asked.map(([what, name]) => [what, name])).toEqual([
      ["pull", "alpine:3"],
      ["pull", "busybox"],
      ["closed", undefined],
    ]);
    expect(asked[0]?.[2]).toEqual({ platform: "linux/arm64", credentials: [], onProgress: undefined, signal: undefined });
  });

  test("reads credentials from files", async () => {
    writeFileSync(join(folder, "config.json"), "{}");
    await image(["pull", "alpine", "--credentials", "config.json"]);
    expect(asked[0]?.[2]).toMatchObject({ credentials: ["{}"] });
    expect(await image(["pull", "alpine", "--credentials", "none.json"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot read the credentials none.json") as string,
    });
  });
});

describe("image import", () => {
  test("takes a file, a folder or standard input", async () => {
    await image(["import", "app.tar"]);
    await image(["import", "-", "--name", "mine:1"]);
    expect(asked.filter(([what]) => what === "import").map(([, source, options]) => [source, (options as { name?: string }).name])).toEqual(
      [
        [join(folder, "app.tar"), undefined],
        ["-", "mine:1"],
      ],
    );
  });

  test("makes an image of a folder that starts as told", async () => {
    const flags = [
      "--name",
      "mine:1",
      "-e",
      "A=b=c",
      "-e",
      "D=",
      "-u",
      "1000:1000",
      "-w",
      "/srv",
      "--entrypoint",
      "/init",
      "--label",
      "k=v",
    ];
    const said = await image(["import", "--rootfs", "root", ...flags, "--", "/bin/sh", "-c", "true"]);
    expect(said).toEqual({
      stdout: `mine:1 imported: sha256:${"d".repeat(64)}\n`,
      stderr: "skipped: dev/null (a socket or device)\n",
      code: 0,
    });
    expect(asked[0]).toEqual([
      "rootfs",
      join(folder, "root"),
      {
        name: "mine:1",
        env: ["A=b=c", "D="],
        entrypoint: ["/init"],
        cmd: ["/bin/sh", "-c", "true"],
        user: "1000:1000",
        workingDir: "/srv",
        labels: { k: "v" },
        onProgress: undefined,
        onSkipped: undefined,
        signal: undefined,
      },
    ]);
  });
});

describe("image rm", () => {
  test("removes all it can, and fails with what it could not", async () => {
    expect(await image(["rm", "a", "missing", "b"])).toEqual({
      stdout: "a removed, 1.5kB freed\nb removed, 1.5kB freed\n",
      stderr: "error: missing is not on this machine\n",
      code: 1,
    });
  });

  test("tells programs what was freed", async () => {
    expect(JSON.parse((await image(["rm", "a", "-o", "json"])).stdout)).toEqual([{ name: "a", freedBytes: 1500 }]);
  });
});

describe("image gc", () => {
  test("removes what was not used for a minute, and says what that gained", async () => {
    expect((await image(["gc"])).stdout).toBe("app:1 removed\napp:2 removed\n2MB freed, 500B in use or kept\n");
    expect(asked[0]).toEqual(["collect", { keepBytes: undefined, keepNewerThan: clock.now() - minute, signal: undefined }]);
  });

  test("takes an age and a size", async () => {
    const { stdout } = await image(["gc", "--older-than", "24h", "--keep", "20GB", "-o", "json"]);
    expect(asked[0]).toEqual(["collect", { keepBytes: 2e10, keepNewerThan: clock.now() - 24 * 60 * minute, signal: undefined }]);
    expect(JSON.parse(stdout)).toEqual({ images: ["app:1", "app:2"], freedBytes: 2_000_000, keptBytes: 500 });
  });
});

test.each([
  [[], "image needs one of ls, pull, rm, gc, import or export"],
  [["list"], 'image needs one of ls, pull, rm, gc, import or export, not "list"'],
  [["ls", "alpine"], "image ls takes no names: unexpected alpine"],
  [["ls", "--name", "x"], "image ls does not take --name"],
  [["pull"], "image pull needs the name of an image"],
  [["rm"], "image rm needs the name of an image"],
  [["gc", "alpine"], "image gc takes no names: unexpected alpine; image rm removes by name"],
  [["gc", "--keep", "much"], '--keep needs a size such as 20GB or 512Mi, not "much"'],
  [
    ["gc", "--older-than", "long"],
    '--older-than: "long" is not a duration: write numbers with units h, m, s, ms, us or ns, such as "90s" or "1h30m"',
  ],
  [["import"], "image import needs one file, folder, or - for standard input; or --rootfs FOLDER"],
  [["import", "a", "b"], "image import needs one file, folder, or - for standard input; or --rootfs FOLDER"],
  [["import", "a", "--user", "x"], "--user is only for image import --rootfs: an image has its own"],
  [["import", "--rootfs", "x"], "image import --rootfs needs --name, because a folder has no image name"],
  [
    ["import", "--rootfs", "x", "--name", "y", "--platform", "linux/arm64"],
    "image import --rootfs takes no --platform: the programs must be for this machine",
  ],
  [["import", "--rootfs", "x", "--name", "y", "-e", "A"], '--env must be NAME=VALUE, not "A"'],
])("image %j is a mistake", async (argv, message) => {
  expect(await image(argv)).toEqual({ stdout: "", stderr: `error: ${message}\nSee: agentbox help image\n`, code: 2 });
});

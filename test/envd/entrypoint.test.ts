import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "./daemon.ts";

const script = (file: string): readonly string[] => ["/bin/sh", "-c", `echo "$GIVEN $HOME $AGENTBOX_POD_UID $0" >> ${file}`];

async function inFolder(tell: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-entrypoint-"));
  try {
    await tell(join(folder, "told"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("the image's own program starts once, when the sandbox has its environment", async () => {
  await inFolder(async (file) => {
    await using daemon = await startDaemon("waiting", { AGENTBOX_IMAGE_ENTRYPOINT: "true" });
    const imageCommand = { entrypoint: script(file), cmd: ["image"] };
    await daemon.init({ envVars: { GIVEN: "here" }, imageCommand });
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe("here /root  image\n");
    await daemon.init({ envVars: { GIVEN: "here" }, imageCommand });
    expect((await fetch(`${daemon.url}/envs`)).status).toBe(200);
    expect(readFileSync(file, "utf8")).toBe("here /root  image\n");
  });
});

test("arguments of the pod go to the image's entrypoint, in place of the image's own", async () => {
  await inFolder(async (file) => {
    const behind = { within: (argv: readonly string[]) => [...argv, "pod"] };
    await using daemon = await startDaemon("waiting", { AGENTBOX_IMAGE_ENTRYPOINT: "true" }, behind);
    await daemon.init({ envVars: { GIVEN: "here" }, imageCommand: { entrypoint: script(file), cmd: ["image"] } });
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe("here /root  pod\n");
  });
});

test("a command of the pod is run as it is, and waits to be armed", async () => {
  await inFolder(async (file) => {
    await using daemon = await startDaemon("waiting", {}, { within: (argv) => [...argv, ...script(file), "pod"] });
    expect(existsSync(file)).toBe(false);
    await daemon.init({ envVars: { GIVEN: "here" } });
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe("here /root  pod\n");
  });
});

test("a list that is none is refused", async () => {
  await using daemon = await startDaemon("waiting", { AGENTBOX_IMAGE_ENTRYPOINT: "true" });
  const imageCommand = { entrypoint: "/bin/sh", cmd: [] } as unknown as { entrypoint: string[]; cmd: string[] };
  await expect(daemon.init({ imageCommand })).rejects.toThrow('400: {"code":400,"message":"imageCommand must have');
});

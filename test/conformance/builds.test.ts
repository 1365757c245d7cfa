import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeSdks } from "./describe-sdks.ts";
import type { TemplateBuildOptions, TemplateFactory } from "./sdk.ts";

describeSdks(
  "templates",
  (use) => {
    const mark = `${use.version.replaceAll(".", "-")}-${use.mode}`;
    const name = (what: string): string => `${what}-${mark}`;
    let folder = "";
    let Template: TemplateFactory;

    beforeAll(() => {
      if (use.sdk.Template === undefined) throw new Error("this SDK builds no templates");
      ({ Template } = use.sdk as { readonly Template: TemplateFactory });
      folder = mkdtempSync(join(tmpdir(), "agentbox-context-"));
      mkdirSync(join(folder, "app/sub"), { recursive: true });
      writeFileSync(join(folder, "app/a.txt"), `a of ${mark}`);
      writeFileSync(join(folder, "app/sub/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
      symlinkSync("a.txt", join(folder, "app/link"));
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    async function built(template: unknown, as: string, options: TemplateBuildOptions = {}): Promise<readonly string[]> {
      const lines: string[] = [];
      await Template.build(template, as, { onBuildLogs: ({ message }) => lines.push(message), ...options });
      return lines;
    }

    async function output(template: string, command: string): Promise<string> {
      const sandbox = await use.sdk.Sandbox.create(template, { timeoutMs: 60_000 });
      try {
        return (await sandbox.commands.run(command)).stdout;
      } finally {
        await use.sdk.Sandbox.kill(sandbox.sandboxId);
      }
    }

    test("steps run in order, with the user, the folder and the variables of those before", async () => {
      const template = Template()
        .fromBaseImage()
        .setEnvs({ GREETING: "hello", TWICE: "$GREETING$GREETING" })
        .setWorkdir("/srv/work")
        .runCmd("echo $TWICE > said && id -un >> said")
        .setUser("builder")
        .runCmd("id -un > /tmp/who");
      const lines = await built(template, name("steps"));
      expect(lines.some((line) => /^(?:CACHED )?\[builder 3\/5\] RUN echo .* \[[0-9a-f]{64}\]$/.test(line))).toBe(true);
      expect(await output(name("steps"), "cat said /tmp/who; pwd; id -un")).toBe("hellohello\nuser\nbuilder\n/srv/work\nbuilder\n");
    });

    test("a build whose layers are there runs nothing, and is done in a moment", async () => {
      const template = (): unknown => Template().fromBaseImage().runCmd(`echo ${mark} > one`).runCmd("sleep 0.3; cat one > two");
      await built(template(), name("cached"));
      const since = performance.now();
      const lines = await built(template(), name("cached"));
      const ms = performance.now() - since;
      expect(lines.filter((line) => line.startsWith("CACHED "))).toHaveLength(3);
      // Tens of milliseconds where nothing else runs; clients ask five times a second how it stands.
      expect(ms).toBeLessThan(2000);
      expect(await output(name("cached"), "cat two")).toBe(`${mark}\n`);
    });

    test("a folder is copied with its modes and links, and a file with the owner that is wanted", async () => {
      const template = Template({ fileContextPath: folder })
        .fromBaseImage()
        .copy("app", "code")
        .copy("app/a.txt", "/etc/own/", { user: "root", mode: 0o640 });
      await built(template, name("copy"));
      const said = await output(name("copy"), "code/sub/run.sh; cat code/link; stat -c ' %U' code/a.txt; stat -c '%U %a' /etc/own/a.txt");
      expect(said).toBe(`ran\na of ${mark} user\nroot 640\n`);
    });

    test("a Dockerfile is built, and its command runs in each sandbox", async () => {
      const text = `FROM e2bdev/base\nARG WHO=you\nWORKDIR /srv/app\nCOPY app ./code\nRUN echo "$WHO" > f\nUSER user\nCMD ["sleep", "4321"]\n`;
      await built(Template({ fileContextPath: folder }).fromDockerfile(text), name("docker"));
      expect(await output(name("docker"), "cat f code/a.txt; pwd; pgrep -c -f 'sleep 432[1]'")).toMatch(
        /^you\na of .*\/srv\/app\n[1-9]\n$/s,
      );
    }, 90_000);

    test("the start command runs when a sandbox is created, which waits until it is ready", async () => {
      const template = Template()
        .fromBaseImage()
        .setWorkdir("/home/user/www")
        .runCmd("echo served > index.html")
        .setStartCmd("sleep 1; python3 -m http.server 8123", "curl -sf http://127.0.0.1:8123/index.html");
      await built(template, name("start"));
      expect(await output(name("start"), "curl -sf http://127.0.0.1:8123/index.html")).toBe("served\n");
    });

    test("a step that fails is an error with what it said, and with the line of the caller", async () => {
      const template = Template().fromBaseImage().runCmd("echo fine").runCmd("echo broken >&2; exit 7");
      const failure = await built(template, name("fails")).catch((error: unknown) => error as Error);
      expect(failure).toBeInstanceOf(use.sdk.BuildError);
      expect(failure).toMatchObject({
        message: expect.stringContaining("failed to run command 'echo broken >&2; exit 7': exit status 7: broken") as string,
      });
      expect((failure as Error).stack).toContain("builds.test.ts");
      const unknownUser = built(Template().fromBaseImage().runCmd("ls", { user: "nosuchuser" }), name("fails"));
      await expect(unknownUser).rejects.toThrow("failed to run command 'ls': command failed: invalid username: 'nosuchuser'");
      await expect(built(Template().fromTemplate("nosuchtemplate").runCmd("ls"), name("fails"))).rejects.toThrow(/nosuchtemplate/);
    });

    test("tags stand for builds, and can be given and taken", async () => {
      const app = name("tags");
      await built(Template().fromBaseImage().runCmd("echo one > version"), `${app}:v1`);
      await built(Template().fromBaseImage().runCmd("echo two > version"), app, { tags: ["v2", "default"] });
      expect(await Promise.all([app, `${app}:v1`, `${app}:v2`].map((one) => output(one, "cat version")))).toEqual([
        "two\n",
        "one\n",
        "two\n",
      ]);
      expect((await Template.assignTags(`${app}:v1`, ["live"])).tags).toEqual(["live"]);
      expect(await output(`${app}:live`, "cat version")).toBe("one\n");
      await Template.removeTags(app, ["live"]);
      expect((await Template.getTags(app)).map(({ tag }) => tag).toSorted()).toEqual(["default", "v1", "v2"]);
      await expect(use.sdk.Sandbox.create(`${app}:live`)).rejects.toThrow(/live/);
      await expect(Template.removeTags(app, ["default"])).rejects.toThrow(/default/);
    }, 120_000);

    test("a template is built on another one, and is known by its name", async () => {
      await built(Template().fromTemplate(name("tags")).runCmd("cat version version > both"), name("child"));
      expect(await output(name("child"), "cat both")).toBe("two\ntwo\n");
      expect([await Template.exists(name("child")), await Template.exists(name("nosuch"))]).toEqual([true, false]);
    });
  },
  { needs: "builds", by: (version) => version === "2.51.0" },
);

describeSdks(
  "templates, as older SDKs build them",
  (use) => {
    test("a template of steps and a folder is built, and a step that fails is told", async () => {
      const { Template } = use.sdk;
      if (Template === undefined) throw new Error("this SDK builds no templates");
      const alias = `older-${use.version.replaceAll(".", "-")}`;
      const folder = mkdtempSync(join(tmpdir(), "agentbox-context-"));
      try {
        mkdirSync(join(folder, "app"));
        writeFileSync(join(folder, "app/a.txt"), `a of ${use.version}`);
        const template = Template({ fileContextPath: folder }).fromImage("e2bdev/base").copy("app", "code").setEnvs({ WHO: "older" });
        await Template.build(template.runCmd("echo $WHO > who"), { alias });
      } finally {
        rmSync(folder, { recursive: true });
      }
      const sandbox = await use.sdk.Sandbox.create(alias, { timeoutMs: 60_000 });
      const { stdout } = await sandbox.commands.run("cat who code/a.txt");
      await use.sdk.Sandbox.kill(sandbox.sandboxId);
      expect(stdout).toBe(`older\na of ${use.version}`);
      await expect(Template.build(Template().fromBaseImage().runCmd("exit 7"), { alias })).rejects.toThrow(/exit status 7/);
    });
  },
  { needs: "builds", by: (version, mode) => version !== "2.51.0" && mode === "headers" },
);

import { mkdtemp, mkdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MachineService, ServiceStep, ServiceWish } from "#cli/machine-service.ts";
import { machineService, type MachineServiceOptions } from "./machine-service.ts";
import { dataFolderOf, unitText } from "./unit-text.ts";

let root = "";
let done: string[] = [];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "agentbox-install-"));
  done = [];
});
afterEach(() => rm(root, { recursive: true }));

const unit = "etc/systemd/system/agentbox.service";
const settings = "etc/agentbox/agentbox.env";
const at = (path: string): string => join(root, path);
const textAt = (path: string): Promise<string> => readFile(at(path), "utf8");

function service(more: Partial<MachineServiceOptions> = {}): MachineService {
  return machineService({
    program: "/opt/agentbox/bin/agentbox",
    dataFolder: "/var/lib/agentbox",
    cacheFolder: "/root/.cache/agentbox",
    root,
    isRoot: true,
    run: async (program, args) => done.push([program, ...args].join(" ")),
    takeDown: async (folder) => done.push(`down ${folder}`),
    ...more,
  });
}

async function change(wish: ServiceWish, more: Partial<MachineServiceOptions> = {}): Promise<readonly ServiceStep[]> {
  const changing = service(more);
  const steps = await changing.plan(wish);
  await changing.carryOut(steps, () => {});
  return steps;
}

const install: ServiceWish = { do: "install", start: true };
const kinds = (steps: readonly ServiceStep[]): readonly string[] => steps.map((step) => step.do);

describe("an install", () => {
  test("writes unit, settings, folders and links, and starts it where systemd runs", async () => {
    await mkdir(at("run/systemd/system"), { recursive: true });
    await change(install);
    expect(await textAt(unit)).toContain('ExecStart="/opt/agentbox/bin/agentbox" up\n');
    // Where make has put runc: systemd gives a service no home folder.
    expect(await textAt(unit)).toContain('Environment="AGENTBOX_CACHE=/root/.cache/agentbox"\n');
    expect(await readlink(at("etc/systemd/system/multi-user.target.wants/agentbox.service"))).toBe("/etc/systemd/system/agentbox.service");
    expect(await readlink(at("usr/local/bin/agentbox"))).toBe("/opt/agentbox/bin/agentbox");
    const modes = await Promise.all([unit, settings, "var/lib/agentbox"].map(async (path) => (await stat(at(path))).mode & 0o777));
    expect(modes).toEqual([0o644, 0o600, 0o700]);
    expect(done).toEqual(["systemctl daemon-reload", "systemctl start agentbox.service"]);
  });

  test("done again changes nothing, and leaves what its user has written into the settings", async () => {
    await change(install);
    await writeFile(at(settings), "AGENTBOX_PORT=9000\n");
    expect(new Set(kinds(await change(install)))).toEqual(new Set(["keep"]));
    expect(await textAt(settings)).toBe("AGENTBOX_PORT=9000\n");
    expect(done).toEqual([]);
  });

  test("from the folder of another version exchanges unit and link, and keeps data and settings", async () => {
    await change(install);
    const steps = await change(install, { program: "/opt/agentbox-2/bin/agentbox" });
    expect(kinds(steps)).toEqual(["keep", "keep", "keep", "write", "keep", "link"]);
    expect(await readlink(at("usr/local/bin/agentbox"))).toBe("/opt/agentbox-2/bin/agentbox");
  });

  test("writes nothing over what it did not write", async () => {
    await mkdir(at("etc/systemd/system"), { recursive: true });
    await writeFile(at(unit), "[Service]\nExecStart=/bin/true\n");
    await expect(service().plan(install)).rejects.toThrow("was not written by agentbox install");
    await rm(at(unit));
    await mkdir(at("usr/local/bin"), { recursive: true });
    await writeFile(at("usr/local/bin/agentbox"), "#!/bin/sh\n");
    await expect(service().plan(install)).rejects.toThrow("/usr/local/bin/agentbox is another program");
    await rm(at("usr/local/bin/agentbox"));
    await symlink("/bin/true", at("usr/local/bin/agentbox"));
    await expect(service().plan(install)).rejects.toThrow("is another program");
  });

  test("that is only planned changes nothing", async () => {
    expect(kinds(await service().plan(install))).toEqual(["make folder", "make folder", "write", "write", "link", "link"]);
    await expect(stat(at("etc"))).rejects.toThrow("ENOENT");
  });

  test("says what systemctl said when that fails", async () => {
    await mkdir(at("run/systemd/system"), { recursive: true });
    const run = async (): Promise<never> => {
      throw Object.assign(new Error("exit 1"), { stderr: "Unit is masked.\n" });
    };
    await expect(change(install, { run })).rejects.toThrow("systemctl daemon-reload failed: Unit is masked.");
  });
});

describe("an uninstall", () => {
  test("ends service and sandboxes, and leaves the data and the settings", async () => {
    await mkdir(at("run/systemd/system"), { recursive: true });
    await change({ do: "install", start: false }, { dataFolder: "/srv/boxes" });
    done = [];
    await change({ do: "uninstall", data: false });
    expect(done).toEqual(["systemctl stop agentbox.service", "down /srv/boxes", "systemctl daemon-reload"]);
    await expect(stat(at(unit))).rejects.toThrow("ENOENT");
    await expect(stat(at("usr/local/bin/agentbox"))).rejects.toThrow("ENOENT");
    expect((await stat(at("srv/boxes"))).isDirectory()).toBe(true);
    expect(await textAt(settings)).toContain("AGENTBOX_PORT");
    expect(await change({ do: "uninstall", data: false })).toEqual([]);
  });

  test("with --data removes them too, and nothing else", async () => {
    await change(install);
    await writeFile(at("var/lib/other"), "");
    await change({ do: "uninstall", data: true });
    for (const path of ["var/lib/agentbox", "etc/agentbox", unit]) await expect(stat(at(path))).rejects.toThrow("ENOENT");
    await stat(at("var/lib/other"));
  });

  test("leaves a program of the same name that is another's", async () => {
    await change(install);
    await rm(at("usr/local/bin/agentbox"));
    await writeFile(at("usr/local/bin/agentbox"), "#!/bin/sh\n");
    await change({ do: "uninstall", data: false });
    expect(await textAt("usr/local/bin/agentbox")).toBe("#!/bin/sh\n");
  });
});

test.each(["/var/lib/agentbox", "/srv/100% mine", String.raw`/srv/back\slash`])(
  "the data folder %s is read from the unit as it was written",
  (dataFolder) => {
    const text = unitText({
      program: "/opt/agentbox/bin/agentbox",
      dataFolder,
      cacheFolder: "/root/.cache/agentbox",
      settingsFile: "/etc/agentbox/agentbox.env",
    });
    expect(dataFolderOf(text)).toBe(dataFolder);
    expect(dataFolderOf(text.replace("# Written", "# Changed"))).toBeUndefined();
  },
);

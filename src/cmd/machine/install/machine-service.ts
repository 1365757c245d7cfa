/** Looks at this machine and carries out what plan-service.ts says. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { CliError } from "#cli/failure.ts";
import type { MachineService, ServiceStep } from "#cli/machine-service.ts";
import { type Found, planInstall, planUninstall, servicePlaces } from "./plan-service.ts";
import { dataFolderOf } from "./unit-text.ts";

export interface MachineServiceOptions {
  readonly program: string;
  /** For an install. */
  readonly dataFolder: string;
  readonly cacheFolder: string;
  /** Where the system's files begin. */
  readonly root?: string;
  readonly isRoot?: boolean;
  /** `agentbox down` on a folder. */
  readonly takeDown: (folder: string) => Promise<unknown>;
  /** Runs a program of the system to its end. */
  readonly run?: (program: string, args: readonly string[]) => Promise<unknown>;
}

const runProgram = async (program: string, args: readonly string[]): Promise<unknown> => promisify(execFile)(program, [...args]);

export function machineService(options: MachineServiceOptions): MachineService {
  const { program, dataFolder, cacheFolder, root = "/", isRoot = process.getuid?.() === 0 } = options;
  return {
    isRunning: isSystemdRunning(root),
    mayChange: isRoot,
    plan: async (wish) => {
      const found = await look(root, dataFolder, wish.do);
      if (wish.do === "install") return planInstall({ program, dataFolder, cacheFolder, start: wish.start }, found);
      return planUninstall({ program, data: wish.data }, found);
    },
    carryOut: async (steps, onDone) => {
      for (const step of steps) {
        await carryOut(step, root, options);
        onDone(step);
      }
    },
  };
}

async function look(root: string, wished: string, what: "install" | "uninstall"): Promise<Found> {
  const { unit, enabling, settings, settingsFolder, command } = servicePlaces;
  const text = await readFile(join(root, unit), "utf8").catch(() => undefined);
  const dataFolder = what === "install" ? wished : ((text === undefined ? undefined : dataFolderOf(text)) ?? wished);
  return {
    unit: text,
    enabling: await linkAt(join(root, enabling)),
    command: await linkAt(join(root, command)),
    hasSettings: existsSync(join(root, settings)),
    hasSettingsFolder: existsSync(join(root, settingsFolder)),
    hasDataFolder: existsSync(join(root, dataFolder)),
    isSystemdRunning: isSystemdRunning(root),
  };
}

/** As libsystemd asks it. */
function isSystemdRunning(root: string): boolean {
  return existsSync(join(root, "run/systemd/system"));
}

async function linkAt(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  return found.isSymbolicLink() ? await readlink(path) : "";
}

async function carryOut(step: ServiceStep, root: string, { takeDown, run = runProgram }: MachineServiceOptions): Promise<void> {
  switch (step.do) {
    case "keep":
      return;
    case "make folder":
      await mkdir(join(root, step.path), { recursive: true, mode: step.mode });
      return;
    case "write":
      return await writeWhole(join(root, step.path), step);
    case "link":
      await mkdir(dirname(join(root, step.path)), { recursive: true });
      await rm(join(root, step.path), { force: true });
      return await symlink(step.to, join(root, step.path));
    case "remove":
      return await rm(join(root, step.path), { recursive: true, force: true });
    case "take down":
      await takeDown(step.folder);
      return;
    case "run": {
      const [program = "", ...args] = step.command;
      await run(program, args).catch((error: unknown) => {
        const said = error instanceof Error && "stderr" in error && typeof error.stderr === "string" ? error.stderr.trim() : String(error);
        throw new CliError(`${step.command.join(" ")} failed: ${said}`, { cause: error });
      });
    }
  }
}

async function writeWhole(path: string, { content, mode }: { readonly content: string; readonly mode: number }): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, content, { mode });
  await chmod(`${path}.new`, mode);
  await rename(`${path}.new`, path);
}

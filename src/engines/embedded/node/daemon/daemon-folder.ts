/**
 * The folder that every sandbox gets read-only at /.envd: our daemon, the Node it runs on with its loader and libraries,
 * and a static init. It contains everything that they need, so they run in musl, distroless and empty images too. All sandboxes
 * share one copy of it on disk and in the page cache.
 *
 *   /.envd/init                      PID 1: reaps orphans (Node does not), forwards signals, passes the exit code on
 *   /.envd/helper                    does what Node cannot, in C; answers until the sandbox is claimed (envd/helper)
 *   /.envd/lib/ld.so + libraries     what the Node binary is linked against, taken from this machine
 *   /.envd/node, /.envd/*.cjs        the daemon: envd.cjs waits, the others are loaded when they are needed
 *   /.envd/launch.cjs                starts a program for callers that can pass only a command line (envd/launch)
 *   /.envd/*.py                      runs the Python code of the interpreter (envd/interpreter)
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { compileHelper, helperKey } from "./compile-helper.ts";

const envd = join(import.meta.dirname, "../../../../envd");
const runners = join(envd, "interpreter/runners");
const helper = join(envd, "helper");
const repository = join(import.meta.dirname, "../../../../..");

export interface DaemonFolderOptions {
  /** Where the folders are kept, one per content. */
  readonly parent: string;
  /** The Node binary to bring along; ours when left out. */
  readonly node?: string;
  /** A statically linked init that reaps orphans. */
  readonly init?: string;
}

/** The path of the folder for the present sources; made when it is not there yet. */
export async function daemonFolder({
  parent,
  node = process.execPath,
  init = "/usr/bin/tini-static",
}: DaemonFolderOptions): Promise<string> {
  await requireInit(init);
  const bundle = await bundleDaemon();
  const folder = join(parent, await contentKey(bundle, [node, init]));
  if (await exists(folder)) return folder;
  await mkdir(parent, { recursive: true });
  const temporary = await mkdtemp(join(parent, "making-"));
  try {
    await fill(temporary, { bundle, node, init });
    // mkdtemp makes it private, but the sandbox's root, which is an unprivileged user outside, must be able to read it.
    await chmod(temporary, 0o755);
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another process may have made the same folder meanwhile.
    if (!(await exists(folder))) throw error;
  }
  return folder;
}

async function requireInit(init: string): Promise<void> {
  if (await exists(init)) return;
  throw new Error(`there is no static init at ${init}; install it with: apt-get install -y tini`);
}

/** Contents by file name. */
type Bundle = ReadonlyMap<string, string | Buffer>;

async function fill(folder: string, { bundle, node, init }: { bundle: Bundle; node: string; init: string }): Promise<void> {
  await mkdir(join(folder, "lib"));
  const { loader, libraries } = await linkedLibraries(node);
  await Promise.all([
    copy(init, join(folder, "init")),
    compileHelper(helper, join(folder, "helper")),
    copy(node, join(folder, "node")),
    copy(loader, join(folder, "lib", "ld.so")),
    ...libraries.map((library) => copy(library, join(folder, "lib", basename(library)))),
    ...[...bundle].map(([name, content]) => writeFile(join(folder, name), content, { mode: 0o755 })),
  ]);
}

async function copy(from: string, to: string): Promise<void> {
  await copyFile(await realpath(from), to, constants.COPYFILE_FICLONE);
  await chmod(to, 0o755);
}

/** What the loader would load for a binary, as it says itself. */
async function linkedLibraries(binary: string): Promise<{ loader: string; libraries: string[] }> {
  const stdout = await runCommand(["ldd", binary]);
  const libraries = [...stdout.matchAll(/=> (\/\S+)/g)].flatMap(([, path]) => path ?? []);
  const loader = /^\s*(\/\S*ld-linux\S*)/m.exec(stdout)?.[1];
  if (loader === undefined) throw new Error(`ldd names no loader for ${binary}:\n${stdout}`);
  return { loader, libraries };
}

/** CommonJS: it starts faster than modules, and types cost a compiler that no sandbox should load. */
async function bundleDaemon(): Promise<Bundle> {
  const { rolldown } = await import("rolldown");
  const input = {
    envd: join(envd, "main.ts"),
    "javascript-runner": join(runners, "javascript-runner.ts"),
    launch: join(envd, "launch/launch.ts"),
  };
  const build = await rolldown({ input, platform: "node", cwd: repository });
  try {
    const { output } = await build.generate({
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: "[name]-[hash].cjs",
      minify: true,
    });
    const files = output.map((file): [string, string] => [file.fileName, file.type === "chunk" ? file.code : String(file.source)]);
    return new Map<string, string | Buffer>([...files, ...(await pythonFiles())]);
  } finally {
    await build.close();
  }
}

async function pythonFiles(): Promise<[string, Buffer][]> {
  const names = (await readdir(runners)).filter((name) => name.endsWith(".py")).sort();
  return Promise.all(names.map(async (name): Promise<[string, Buffer]> => [name, await readFile(join(runners, name))]));
}

async function contentKey(bundle: Bundle, binaries: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const [name, content] of bundle) hash.update(name).update(content);
  hash.update(await helperKey(helper));
  for (const path of binaries) {
    const { size, mtimeMs } = await stat(path);
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Removes folders of earlier sources that no container uses any more. */
export async function sweepDaemonFolders(parent: string, inUse: ReadonlySet<string>): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  await Promise.all(
    names.filter((name) => !inUse.has(join(parent, name))).map((name) => rm(join(parent, name), { recursive: true, force: true })),
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

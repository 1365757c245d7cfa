/** Copies between this machine and sandboxes, and between sandboxes, as a streamed tar archive that is never stored. */
import { lstat, stat } from "node:fs/promises";
import { basename, dirname, posix, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { extract, type Headers, pack } from "tar-stream";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";
import type { CopyProgress } from "./copy-progress.ts";
import { arrivalOf, entryName, type PathKind, renamedEntry, type Source } from "./copy-places.ts";
import { joinedPieces, packPath } from "./pack-files.ts";
import { pathKind, runProgram, type SandboxFiles } from "./sandbox-files.ts";
import { FileUnpacker } from "./unpack-files.ts";

export interface Copying {
  readonly context: CliContext;
  readonly progress: CopyProgress;
}

export interface PlaceIn {
  readonly files: SandboxFiles;
  readonly path: string;
}

export async function copyIn({ context, progress }: Copying, from: string, files: SandboxFiles, to: string): Promise<void> {
  const path = resolve(context.cwd, from);
  const kind = await hereKind(path);
  if (kind === "none" || kind === "new") throw new CliError(`${from} does not exist here`);
  const arrival = arrivalOf({ path: from === "." ? "./." : from, kind }, { path: to, kind: await pathKind(files, to) });
  const archive = pack();
  // A failure here must also end the program in the sandbox.
  const packing = packPath({ pack: archive, onFile: progress.add, onSkipped: progress.skipped }, path, arrival.name).then(
    () => archive.finalize(),
    (error: Error) => {
      archive.destroy(error);
      throw error;
    },
  );
  const { ended } = await runProgram(files, unpackCommand(arrival.folder), joinedPieces(archive));
  await Promise.all([packing, ended]);
}

export async function copyOut({ context, progress }: Copying, files: SandboxFiles, from: string, to: string): Promise<void> {
  const source = await sourceIn(files, from);
  const path = resolve(context.cwd, to);
  // A slash at the end means a folder, and resolving the path would remove it.
  const target = to.endsWith("/") ? `${path}/` : path;
  const arrival = arrivalOf(source, { path: target, kind: await hereKind(path) });
  const unpacker = new FileUnpacker({ from: entryName(source), to: arrival, onFile: progress.add, onSkipped: progress.skipped });
  const { output, ended } = await runProgram(files, packCommand(source));
  const archive = extract();
  await Promise.all([pipeline(output, archive), unpacker.unpack(archive), ended]);
}

export async function copyAcross({ progress }: Copying, from: PlaceIn, to: PlaceIn): Promise<void> {
  const source = await sourceIn(from.files, from.path);
  const arrival = arrivalOf(source, { path: to.path, kind: await pathKind(to.files, to.path) });
  const reading = await runProgram(from.files, packCommand(source));
  const [archive, renamed] = [extract(), pack()];
  const renaming = (async () => {
    for await (const entry of archive) {
      const name = renamedEntry(entry.header.name, entryName(source), arrival.name);
      const linkname =
        entry.header.type === "link" ? renamedEntry(entry.header.linkname ?? "", entryName(source), arrival.name) : entry.header.linkname;
      const isFile = entry.header.type === "file";
      const { pax: _, ...header } = entry.header as Headers & { readonly pax?: unknown };
      const sink = renamed.entry({ ...header, name: name === "" ? "./" : name, linkname: linkname ?? null });
      if (isFile) {
        await pipeline(entry, sink);
        progress.add(header.size ?? 0);
      } else {
        sink.end();
        entry.resume();
      }
    }
    renamed.finalize();
  })().catch((error: Error) => {
    renamed.destroy(error);
    throw error;
  });
  const writing = await runProgram(to.files, unpackCommand(arrival.folder), joinedPieces(renamed));
  await Promise.all([pipeline(reading.output, archive), renaming, reading.ended, writing.ended]);
}

/** Writes standard input to one file. */
export async function copyFromStream(input: AsyncIterable<Uint8Array>, files: SandboxFiles, to: string): Promise<void> {
  if ((await pathKind(files, to)) === "folder")
    throw new CliError(`${to} is a folder: add the name of the file to write standard input to`);
  await (
    await runProgram(files, ["sh", "-c", 'cat > "$1"', "sh", to], input)
  ).ended;
}

/** Writes one file to standard output. */
export async function copyToStream(files: SandboxFiles, from: string, output: NodeJS.WritableStream): Promise<void> {
  const { kind } = await sourceIn(files, from);
  if (kind === "folder")
    throw new CliError(
      `${from} is a folder, but standard output can take only one file; for an archive use: agentbox exec ${files.id} -- tar c ${from}`,
    );
  const { output: bytes, ended } = await runProgram(files, ["cat", from.startsWith("-") ? `./${from}` : from]);
  await Promise.all([pipeline(bytes, output, { end: false }), ended]);
}

async function sourceIn(files: SandboxFiles, path: string): Promise<Source> {
  const kind = await pathKind(files, path);
  if (kind === "folder" || kind === "file") return { path, kind };
  throw new CliError(`${path} does not exist in sandbox ${files.id}`);
}

function packCommand(source: Source): readonly string[] {
  const name = entryName(source);
  const folder = name === "." ? source.path : posix.dirname(source.path);
  // The ./ prevents that a name is taken for a flag.
  return ["tar", "-c", "-f", "-", "-C", folder, name === "." ? "." : `./${name}`];
}

/** Files belong to the user that unpacks them. */
function unpackCommand(folder: string): readonly string[] {
  return ["tar", "-x", "-p", "-o", "-f", "-", "-C", folder];
}

async function hereKind(path: string): Promise<PathKind> {
  try {
    // A link is copied as a link, but a link to a folder is a valid target folder.
    const found = await lstat(path);
    const isFolder = found.isDirectory() || (found.isSymbolicLink() && (await stat(path).catch(() => found)).isDirectory());
    return isFolder ? "folder" : "file";
  } catch {
    const parent = await stat(dirname(path)).catch(() => undefined);
    return parent?.isDirectory() === true && basename(path) !== "" ? "new" : "none";
  }
}

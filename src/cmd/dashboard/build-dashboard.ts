/**
 * The web console as files that a browser loads: scripts bundled and minified, one stylesheet, one page, each named by its content and
 * compressed ahead.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const repository = join(import.meta.dirname, "../../..");
const sources = join(repository, "src/dashboard");

/** Name to content; `index.html` is the page. */
export type BuiltFiles = ReadonlyMap<string, Buffer>;

export async function buildDashboard(): Promise<BuiltFiles> {
  const [scripts, style] = await Promise.all([bundle(), styleSheet()]);
  const styleName = `style-${shortHash(style)}.css`;
  const page = await readFile(join(sources, "index.html"), "utf8");
  const filled = page.replace("__STYLE__", `/console/assets/${styleName}`).replace("__SCRIPT__", `/console/assets/${scripts.entry}`);
  const files = new Map([...scripts.files, [styleName, style]]);
  const compressed = await Promise.all([...files].map(([name, bytes]) => compressions(name, bytes)));
  return new Map([...files, ...compressed.flat(), ["index.html", Buffer.from(filled)]]);
}

interface Scripts {
  readonly entry: string;
  readonly files: readonly (readonly [string, Buffer])[];
}

async function bundle(): Promise<Scripts> {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: join(sources, "main.tsx"),
    platform: "browser",
    cwd: repository,
    tsconfig: join(sources, "tsconfig.json"),
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    // The client's ways for programs, which no page takes.
    external: (id) => id === "ws" || id.startsWith("node:"),
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      minify: true,
      entryFileNames: "main-[hash].js",
      chunkFileNames: "[name]-[hash].js",
    });
    const files = output.map((file) => [file.fileName, Buffer.from(file.type === "chunk" ? file.code : file.source)] as const);
    const entry = output.find((file) => file.type === "chunk" && file.isEntry)?.fileName;
    if (entry === undefined) throw new Error("the bundle of the console has no entry");
    return { entry, files };
  } finally {
    await build.close();
  }
}

/** Tokens first: the others use them. */
async function styleSheet(): Promise<Buffer> {
  const folder = join(sources, "style");
  const own = (await readdir(folder)).filter((name) => name.endsWith(".css") && name !== "tokens.css").sort();
  const paths = [
    join(folder, "tokens.css"),
    ...own.map((name) => join(folder, name)),
    join(repository, "node_modules/@xterm/xterm/css/xterm.css"),
    join(repository, "node_modules/uplot/dist/uPlot.min.css"),
  ];
  return Buffer.concat(await Promise.all(paths.map((path) => readFile(path))));
}

async function compressions(name: string, bytes: Buffer): Promise<readonly [string, Buffer][]> {
  const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, best), promisify(gzip)(bytes, { level: 9 })]);
  return [
    [`${name}.br`, br],
    [`${name}.gz`, gz],
  ];
}

function shortHash(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 8).replaceAll("-", "_");
}

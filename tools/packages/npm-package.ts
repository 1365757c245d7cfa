/** The npm package: src/client as one file of JavaScript, with the declarations that it needs. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "rolldown";
import packageJson from "../../package.json" with { type: "json" };
import { flatDeclarations } from "./flat-declarations.ts";

const root = resolve(import.meta.dirname, "../..");
const entry = "src/client/package/index.ts";

/** Resolves with the tarball's name in `into`. `work` is an empty folder. */
export async function npmPackage(work: string, into: string): Promise<string> {
  const staged = join(work, "package");
  mkdirSync(staged, { recursive: true });
  await build({
    input: join(root, entry),
    platform: "node",
    external: ["ws"],
    output: { file: join(staged, "index.js"), format: "esm", codeSplitting: false },
    logLevel: "warn",
  });
  declare(join(work, "declarations"));
  for (const [name, text] of flatDeclarations(join(work, "declarations"), "client/package/index.d.ts"))
    writeFileSync(join(staged, name), text);
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  cpSync(join(root, "sdk/typescript/README.md"), join(staged, "README.md"));
  cpSync(join(root, "LICENSE"), join(staged, "LICENSE"));
  return execFileSync("npm", ["pack", "--silent", "--pack-destination", into], { cwd: staged, encoding: "utf8" }).trim();
}

function declare(into: string): void {
  const settings = ["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--rootDir", "src", "--outDir", into];
  const language = ["--target", "esnext", "--module", "nodenext", "--lib", "esnext", "--types", "node", "--strict", "--skipLibCheck"];
  const sources = ["--allowImportingTsExtensions", "--erasableSyntaxOnly", "--verbatimModuleSyntax", "--exactOptionalPropertyTypes"];
  execFileSync(join(root, "node_modules/.bin/tsc"), [...settings, ...language, ...sources, entry], { cwd: root, stdio: "inherit" });
}

function manifest(): object {
  return {
    ...(JSON.parse(readFileSync(join(root, "sdk/typescript/package.json"), "utf8")) as object),
    version: packageJson.version,
    license: packageJson.license,
    dependencies: { ws: packageJson.dependencies.ws },
  };
}

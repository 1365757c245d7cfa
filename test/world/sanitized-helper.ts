/** The helper as the compiler's sanitizers watch it: it ends with a report at the first byte that it may not touch. */
import { tmpdir } from "node:os";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { compileHelper, warnings } from "#engines/embedded/node/daemon/compile-helper.ts";

export const sanitized: readonly string[] = [...warnings, "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

export interface SanitizedHelper extends AsyncDisposable {
  readonly path: string;
}

export async function sanitizedHelper(): Promise<SanitizedHelper> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-helper-"));
  const path = join(folder, "helper");
  await compileHelper(join(import.meta.dirname, "../../src/envd/helper"), path, { flags: sanitized });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/**
 * What bin/agentbox runs. Our sources are compiled at every start, which is half of the time that a short command takes; so the
 * result is kept with the packages. Where that folder cannot be written, all works without.
 */
import { enableCompileCache } from "node:module";
import { join } from "node:path";

enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/agentbox"));
await import("./command-line.ts");

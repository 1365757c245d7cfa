/** One PostgreSQL for a whole vitest run; tests get at it with `inject("postgres")` and make databases of their own in it. */
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgres: { readonly port: number; readonly folder: string };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide("postgres", { port: server.port, folder: server.folder });
  return () => server.stop();
}

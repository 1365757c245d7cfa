/**
 * The chart as a test renders it: with what must be set, and what the test says.
 *
 * - `chart-values.test.ts` what it makes of values, without a server,
 * - `chart.test.ts` installs, upgrades and removes it on a server of its own,
 * - `chart-rbac.test.ts` runs every part under its rights; `chart-accounts.ts` makes the accounts and reads what they asked for,
 *   `running-part.ts` runs a part as one of them,
 * - `chart-one-namespace.test.ts` does the same for an installation that looks after one namespace,
 * - `run-program.ts` runs helm and kubectl.
 */
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { ApiObject } from "#model/meta.ts";
import { chartFolder } from "../../tools/render-manifests.ts";
import { runProgram } from "./run-program.ts";

export interface ChartObject extends ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiObject["metadata"] & { readonly name: string };
}

/** What must be set, for tests that are about something else. */
export const neededValues = ["images.registry=registry.invalid", "database.existingSecret=agentbox-database"];

export interface Rendering {
  readonly namespace?: string;
  readonly values?: readonly string[];
  /** One template only. */
  readonly only?: string;
}

export function setArgs(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => ["--set", value]);
}

export async function renderChart(bin: string, { namespace = "agentbox", values = neededValues, only }: Rendering = {}): Promise<string> {
  const part = only === undefined ? [] : ["--show-only", `templates/${only}`];
  return runProgram(join(bin, "helm"), ["template", "agentbox", chartFolder, "--namespace", namespace, ...setArgs(values), ...part]);
}

export function objectsIn(text: string): readonly ChartObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as ChartObject | null)
    .filter((object) => object !== null);
}

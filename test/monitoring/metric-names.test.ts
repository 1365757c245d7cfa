/** What the alerts and the dashboard ask for is what a running server says at /metrics. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { dashboard, dashboardFile, dashboardText } from "../../tools/generate-dashboard.ts";
import { UpProcess } from "../world/up-process.ts";

const alertsFile = new URL("../../deploy/chart/files/monitoring/alerts.yaml", import.meta.url);

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** Where there is one process, none stands for election: test/many has it. */
const onlyOnClusters: ReadonlySet<string> = new Set(["agentbox_leader"]);

function namesIn(expression: string): readonly string[] {
  const names = expression.match(/\b(agentbox|process|nodejs)_[a-z0-9_]+/g) ?? [];
  return names.map((name) => name.replace(/_bucket$/, "")).filter((name) => !onlyOnClusters.has(name));
}

async function expressions(): Promise<readonly (readonly [where: string, expression: string])[]> {
  const rules = parse(await readFile(alertsFile, "utf8")) as Rules;
  const { panels } = dashboard() as Dashboard;
  return [
    ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
}

test("the dashboard in the chart is what its generator writes", async () => {
  expect(await readFile(dashboardFile, "utf8")).toBe(dashboardText());
});

test("every metric of the alerts and of the dashboard is one that a server has", async () => {
  await using up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  const { url } = await up.access();
  const page = await (await fetch(`${url}/metrics`)).text();
  const known = new Set([...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const asked = await expressions();
  expect(asked.flatMap(([, expression]) => namesIn(expression)).length).toBeGreaterThan(30);
  const unknown = asked.flatMap(([where, expression]) =>
    namesIn(expression)
      .filter((name) => !known.has(name))
      .map((name) => `${where}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

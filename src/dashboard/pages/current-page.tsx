/** Selects the page for the current address. */
import type { ComponentType } from "preact";
import { BuildList } from "../builds/build-list.tsx";
import { BuildPage } from "../builds/build-page.tsx";
import { CheckpointList } from "../stored/checkpoint-list.tsx";
import { VolumeList } from "../stored/volume-list.tsx";
import { WebhookList } from "../webhooks/webhook-list.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { hrefOf, place } from "../route.ts";
import { AuditPage } from "./audit-page.tsx";
import { EnvPage } from "./env-page.tsx";
import { HealthPage } from "./health-page.tsx";
import { HistoryPage } from "./history-page.tsx";
import { KeyList } from "./key-list.tsx";
import { LimitPage } from "./limit-page.tsx";
import { Overview } from "./overview.tsx";
import { SandboxPage } from "../sandbox/sandbox-page.tsx";
import { Playground } from "./playground.tsx";
import { PoolList } from "./pool-list.tsx";
import { PoolPage } from "./pool-page.tsx";
import { SandboxList } from "./sandbox-list.tsx";
import { TemplateList } from "./template-list.tsx";
import { TemplatePage } from "./template-page.tsx";
import { UsagePage } from "./usage-page.tsx";

export function CurrentPage() {
  const [first = "", second, third] = place.value.parts;
  if (first === "sandboxes" && second !== undefined) return <SandboxPage key={second} sandboxId={second} />;
  if (first === "pools" && second !== undefined && third !== undefined) return <PoolPage key={third} namespace={second} name={third} />;
  if (first === "envs" && second !== undefined && third !== undefined) return <EnvPage key={third} namespace={second} name={third} />;
  if (first === "templates" && second !== undefined) return <TemplatePage key={second} name={second} />;
  if (first === "builds" && second !== undefined) return <BuildPage key={second} buildId={second} />;
  const Page = second === undefined ? pages.get(first) : undefined;
  return Page === undefined ? <NoPage /> : <Page />;
}

const pages: ReadonlyMap<string, ComponentType> = new Map<string, ComponentType>([
  ["", Overview],
  ["sandboxes", SandboxList],
  ["playground", Playground],
  ["pools", PoolList],
  ["templates", TemplateList],
  ["builds", BuildList],
  ["checkpoints", CheckpointList],
  ["volumes", VolumeList],
  ["webhooks", WebhookList],
  ["history", HistoryPage],
  ["keys", KeyList],
  ["usage", UsagePage],
  ["audit", AuditPage],
  ["limits", LimitPage],
  ["health", HealthPage],
]);

function NoPage() {
  return (
    <div class="page">
      <Empty title="There is no such page">
        <Link href={hrefOf([])}>Go to the overview</Link>
      </Empty>
    </div>
  );
}

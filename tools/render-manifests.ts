/**
 * Writes deploy/manifests from the chart, for installation without Helm. Run it after changing the chart: `make manifests`.
 * A test of the chart (test/kubernetes/chart.test.ts) holds the files to it.
 */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Document, isMap, parseAllDocuments } from "yaml";
import { bedBinaries } from "../test/kubernetes/binaries.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
export const chartFolder = join(root, "deploy/chart");
export const manifestsFolder = join(root, "deploy/manifests");

const namespace = "agentbox";
/** Names that the reader of the manifests replaces or creates. */
const values = ["images.registry=registry.example.com/platform", "database.existingSecret=agentbox-database"];

const ownKind = "agents.navix.sh/v1alpha1/SandboxPool";

interface Manifest {
  readonly file: string;
  readonly comment: string;
  readonly args: readonly string[];
  readonly before?: string;
}

const manifests: readonly Manifest[] = [
  {
    file: "agentbox.yaml",
    comment: ` AgentBox as plain manifests, beside those in deploy/crds. Generated from deploy/chart by \`make manifests\`. Do not edit.
 Put your registry in the place of registry.example.com/platform, and make the Secret agentbox-database (key url):
 docs/running-on-kubernetes.md.`,
    args: ["--set", "crds.install=false"],
    before: `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${namespace}\n---\n`,
  },
  {
    file: "first-pool.yaml",
    comment: ` A template and a pool to begin with. Generated from deploy/chart by \`make manifests\`. Do not edit.
 Apply it once agentbox.yaml is there, with your registry in the place of registry.example.com/platform.`,
    // Helm renders it only for a server that knows our kinds.
    args: ["--set", "firstPool.enabled=true", "--show-only", "templates/first-pool.yaml", "--api-versions", ownKind],
  },
];

/** File name to text. */
export async function renderManifests(helm: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { file, comment, args, before = "" } of manifests) {
    texts.set(file, withComment(comment, before + (await render(helm, args))));
  }
  return texts;
}

async function render(helm: string, args: readonly string[]): Promise<string> {
  const sets = values.flatMap((value) => ["--set", value]);
  const command = ["template", "agentbox", chartFolder, "--namespace", namespace, ...sets, ...args];
  const { stdout } = await promisify(execFile)(helm, command, { maxBuffer: 16 * 1024 * 1024 });
  return parseAllDocuments(stdout)
    .map((document) => withoutHelm(document as Document).toString({ lineWidth: 0 }))
    .join("---\n");
}

/** What only Helm reads, and where in the chart a thing stood. */
function withoutHelm(document: Document): Document {
  const { contents } = document;
  // The separators are ours.
  if (document.directives) document.directives.docStart = null;
  if (isMap(contents)) contents.commentBefore = contents.commentBefore?.replace(/^ Source: .*\n?/m, "") ?? null;
  for (const path of [
    ["metadata", "annotations"],
    ["metadata", "labels"],
  ]) {
    const map = document.getIn(path);
    if (!isMap(map)) continue;
    for (const { key } of map.items.slice()) {
      const name = String(key);
      if (name.startsWith("helm.sh/") || name === "app.kubernetes.io/managed-by") map.delete(key);
    }
    if (map.items.length === 0) document.deleteIn(path);
  }
  return document;
}

function withComment(comment: string, text: string): string {
  return `${comment.replace(/^/gm, "#")}\n${text}`;
}

if (import.meta.main) {
  const texts = await renderManifests(join(await bedBinaries(), "helm"));
  await mkdir(manifestsFolder, { recursive: true });
  for (const [file, text] of texts) await writeFile(join(manifestsFolder, file), text);
  console.log(`${[...texts.keys()].join(", ")} written to deploy/manifests`);
}

/** The service accounts of the chart with exactly its rights, on a server that has nothing else of it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { KubernetesBed } from "./bed.ts";
import { type ChartObject, neededValues, objectsIn, renderChart } from "./chart.ts";
import { runProgram } from "./run-program.ts";

export const accountNames = ["api", "controllers", "gateway", "node"] as const;
export type AccountName = (typeof accountNames)[number];

/** The chart with all of its parts. */
const valuesWithAll = [...neededValues, "nodeAgent.enabled=true"];

export interface Account {
  readonly kubeconfig: string;
  readonly client: KubernetesClient;
  /** What the server says of one right. */
  may(right: Right): Promise<boolean>;
}

export interface Right {
  readonly verb: string;
  /** `pods`, `pods/log`, `sandboxpools.agents.navix.sh`. */
  readonly of: string;
  readonly namespace?: string;
  readonly name?: string;
}

interface AccessReview extends ApiObject {
  readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
  readonly status?: { readonly allowed: boolean };
}

const accessReviews: ResourceType<AccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  singular: "selfsubjectaccessreview",
  shortNames: [],
  namespaced: false,
  statusSubresource: false,
};

export interface AccountPlaces {
  /** AgentBox's own. */
  readonly namespace: string;
  readonly sandboxNamespace: string;
  readonly pullSecret: string;
  /** Beside what these places need. */
  readonly values?: readonly string[];
}

export async function makeAccounts(
  bed: KubernetesBed,
  admin: KubernetesClient,
  places: AccountPlaces,
): Promise<Record<AccountName, Account>> {
  const { namespace, sandboxNamespace, pullSecret } = places;
  for (const name of [namespace, sandboxNamespace]) await admin.create(Namespaces, { metadata: { name } });
  const values = [
    ...valuesWithAll,
    `sandboxes.namespace=${sandboxNamespace}`,
    `sandboxes.pullSecrets={${pullSecret}}`,
    ...(places.values ?? []),
  ];
  const kubectl = (...args: readonly string[]) => runProgram(join(bed.bin, "kubectl"), ["--kubeconfig", bed.kubeconfig, ...args]);
  for (const only of ["rbac.yaml", "claims-policy.yaml"]) {
    const file = join(bed.folder, only);
    await writeFile(file, await renderChart(bed.bin, { namespace, values, only }));
    await kubectl("apply", "-f", file);
  }
  const made = accountNames.map(async (name) => {
    const token = (await kubectl("-n", namespace, "create", "token", `agentbox-${name}`)).trim();
    return [name, await accountWith(bed, name, token)] as const;
  });
  return Object.fromEntries(await Promise.all(made)) as Record<AccountName, Account>;
}

/** Rights as `verb resource`, by account: what the chart grants, and what the server was asked for. */
export type RightsByAccount = Readonly<Record<AccountName, ReadonlySet<string>>>;

export async function grantedRights(bed: KubernetesBed): Promise<RightsByAccount> {
  const roles = objectsIn(await renderChart(bed.bin, { values: valuesWithAll, only: "rbac.yaml" })) as readonly (ChartObject & {
    readonly rules?: readonly RoleRule[];
  })[];
  const of = (name: AccountName): ReadonlySet<string> =>
    new Set(
      roles
        .filter(({ metadata }) => metadata.name === `agentbox-${name}`)
        .flatMap(({ rules = [] }) => rules)
        .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))),
    );
  return { api: of("api"), controllers: of("controllers"), gateway: of("gateway"), node: of("node") };
}

/** Needs a bed with `audit`. */
export async function usedRights(bed: KubernetesBed, { namespace }: AccountPlaces): Promise<RightsByAccount> {
  const lines = (await readFile(join(bed.folder, "audit.log"), "utf8")).split("\n").filter(Boolean);
  const asked = lines.map((line) => JSON.parse(line) as AuditEvent);
  const of = (name: AccountName): ReadonlySet<string> =>
    new Set(
      asked
        .filter(({ user }) => user.username === `system:serviceaccount:${namespace}:agentbox-${name}`)
        .map(
          ({ verb, objectRef: { resource = "", subresource } = {} }) =>
            `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`,
        ),
    );
  return { api: of("api"), controllers: of("controllers"), gateway: of("gateway"), node: of("node") };
}

interface RoleRule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

async function accountWith(bed: KubernetesBed, name: string, token: string): Promise<Account> {
  const kubeconfig = join(bed.folder, `${name}.kubeconfig`);
  const cluster = { server: bed.url, "certificate-authority-data": Buffer.from(bed.ca).toString("base64") };
  const config = {
    "current-context": name,
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const client = await kubernetesClient({ kubeconfig });
  return { kubeconfig, client, may: (right) => isAllowed(client, right) };
}

async function isAllowed(client: KubernetesClient, { verb, of, namespace = "", name = "" }: Right): Promise<boolean> {
  const [plural = "", subresource = ""] = of.split("/");
  const [resource = "", ...group] = plural.split(".");
  const resourceAttributes = { verb, resource, subresource, group: group.join("."), namespace, name };
  return (await client.create(accessReviews, { metadata: {}, spec: { resourceAttributes } })).status?.allowed ?? false;
}

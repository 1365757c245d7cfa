/** The few requests that starting a bed takes. They must not go through the client that the bed is there to test. */
import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Agent, request, type Dispatcher } from "undici";
import { parseAllDocuments } from "yaml";

export interface AdminAccess {
  readonly url: string;
  readonly token: string;
  readonly ca: string;
}

interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

/** A PATCH is a server-side apply. */
export type AdminRequest = (method: Dispatcher.HttpMethod, path: string, body?: unknown) => Promise<AdminAnswer>;

export function adminRequests(access: AdminAccess): AdminRequest {
  const dispatcher = new Agent({ connect: { ca: access.ca }, pipelining: 1, keepAliveTimeout: 1000 });
  return async (method, path, body) => {
    const type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json";
    const answer = await request(access.url + path, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${access.token}`, "content-type": type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
}

/** True when the server is ready; false while it does not answer. */
export async function isReady(admin: AdminRequest): Promise<boolean> {
  try {
    return (await admin("GET", "/readyz")).status === 200;
  } catch {
    return false;
  }
}

const crdsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Our own CustomResourceDefinitions, as the repository generates them. */
export function ownCrds(): string {
  return fileURLToPath(new URL("../../deploy/crds", import.meta.url));
}

/** Creates every CustomResourceDefinition of the YAML files in `folder`; returns their names. */
export async function createCrds(admin: AdminRequest, folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".yaml")).toSorted();
  const names: string[] = [];
  for (const file of files) {
    for (const document of parseAllDocuments(await readFile(join(folder, file), "utf8"))) {
      const answer = await admin("POST", crdsPath, document.toJS());
      if (answer.status !== 201) throw new Error(`${join(folder, file)} was refused with ${answer.status}: ${answer.text}`);
      names.push((JSON.parse(answer.text) as { metadata: { name: string } }).metadata.name);
    }
  }
  return names;
}

/** True when objects of this kind can be written. */
export async function isEstablished(admin: AdminRequest, crd: string): Promise<boolean> {
  const answer = await admin("GET", `${crdsPath}/${crd}`);
  const { status } = JSON.parse(answer.text) as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some((condition) => condition.type === "Established" && condition.status === "True") === true;
}

/** Creates an object whose owner does not exist, and returns a check that says when the garbage collector has removed it. */
export async function plantGarbage(admin: AdminRequest): Promise<() => Promise<boolean>> {
  const path = "/api/v1/namespaces/default/configmaps";
  const name = "garbage-collector-probe";
  const answer = await admin("POST", path, {
    metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: randomUUID() }] },
  });
  if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return async () => (await admin("GET", `${path}/${name}`)).status === 404;
}

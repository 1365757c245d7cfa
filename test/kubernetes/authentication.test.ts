/** Every authentication method of a kubeconfig, against a real API server that reports the user it saw. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect as connectTcp, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import type { ConnectionOptions } from "#engines/kubernetes/connection.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { certificateAuthority } from "./certificates.ts";

interface SelfSubjectReview extends ApiObject {
  readonly status?: { readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[]; readonly uid?: string } };
}

const selfSubjectReviews: ResourceType<SelfSubjectReview> = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  singular: "selfsubjectreview",
  shortNames: [],
  namespaced: false,
  statusSubresource: false,
};

const bed = inject("kubernetes");
const execVersion = "client.authentication.k8s.io/v1";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-authentication-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function connect(options: ConnectionOptions): Promise<KubernetesClient> {
  const client = await kubernetesClient({ ...options, retries: { maxTries: 1, maxWaitMs: 0 } });
  onTestFinished(() => client.close());
  return client;
}

async function connectAs(user: object, cluster: object = {}): Promise<KubernetesClient> {
  const config = {
    "current-context": "it",
    clusters: [{ name: "it", cluster: { server: bed.url, "certificate-authority-data": base64(bed.ca), ...cluster } }],
    users: [{ name: "it", user }],
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
  };
  const kubeconfig = join(folder, "config");
  await writeFile(kubeconfig, JSON.stringify(config));
  return connect({ kubeconfig });
}

async function whoAmI(client: KubernetesClient): Promise<string | undefined> {
  const review = await client.create(selfSubjectReviews, { metadata: {} });
  return review.status?.userInfo?.username;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** A credential plugin that answers with whatever is in `answer`. */
async function plugin(status: object): Promise<{ readonly command: string; readonly answer: string }> {
  const [command, answer] = [join(folder, "login"), join(folder, "answer")];
  await writeFile(answer, JSON.stringify({ apiVersion: execVersion, kind: "ExecCredential", status }));
  await writeFile(command, `#!/bin/sh\ncat '${answer}'\n`);
  await chmod(command, 0o755);
  return { command, answer };
}

test("the address, a token and the authority are enough", async () => {
  const { url, token, ca } = bed;
  expect(await whoAmI(await connect({ url, token, ca }))).toBe("admin");
});

test("the file that the bed writes works as it is", async () => {
  expect(await whoAmI(await connect({ kubeconfig: inject("kubeconfig") }))).toBe("admin");
});

describe("a client certificate", () => {
  test("may stand in the kubeconfig", async () => {
    const { cert, key } = bed.clientCertificate;
    const client = await connectAs({ "client-certificate-data": base64(cert), "client-key-data": base64(key) });
    expect(await whoAmI(client)).toBe("by-certificate");
  });

  test("may be in files beside it", async () => {
    await writeFile(join(folder, "client.crt"), bed.clientCertificate.cert);
    await writeFile(join(folder, "client.key"), bed.clientCertificate.key);
    expect(await whoAmI(await connectAs({ "client-certificate": "client.crt", "client-key": "client.key" }))).toBe("by-certificate");
  });

  test("may come from a plugin", async () => {
    const { command } = await plugin({ clientCertificateData: bed.clientCertificate.cert, clientKeyData: bed.clientCertificate.key });
    expect(await whoAmI(await connectAs({ exec: { apiVersion: execVersion, command } }))).toBe("by-certificate");
  });
});

describe("a token", () => {
  test("in a file that is replaced is read again when the server refuses it", async () => {
    await writeFile(join(folder, "token"), "stale\n");
    const client = await connectAs({ tokenFile: "token" });
    await expect(whoAmI(client)).rejects.toMatchObject({ reason: "Unauthorized", code: 401 });
    await writeFile(join(folder, "token"), `${bed.token}\n`);
    expect(await whoAmI(client)).toBe("admin");
  });

  test("from a plugin is asked for again when the server refuses it", async () => {
    const { command, answer } = await plugin({ token: "stale" });
    const client = await connectAs({ exec: { apiVersion: execVersion, command } });
    await expect(whoAmI(client)).rejects.toMatchObject({ reason: "Unauthorized" });
    await writeFile(answer, JSON.stringify({ apiVersion: execVersion, kind: "ExecCredential", status: { token: bed.token } }));
    expect(await whoAmI(client)).toBe("admin");
  });
});

test("a user may act for another, with groups", async () => {
  const client = await connectAs({ token: bed.token, as: "jane", "as-groups": ["dev", "system:authenticated"] });
  const review = await client.create(selfSubjectReviews, { metadata: {} });
  expect(review.status?.userInfo).toMatchObject({ username: "jane", groups: expect.arrayContaining(["dev"]) });
});

test("the way to the server may lead through a proxy", async () => {
  const tunnels: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    const upstream = connectTcp(Number(new URL(bed.url).port), "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    upstream.on("error", () => socket.destroy()).pipe(socket);
    socket.on("error", () => upstream.destroy()).pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const client = await connectAs({ token: bed.token }, { "proxy-url": `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
  expect(await whoAmI(client)).toBe("admin");
  expect(tunnels).toEqual([new URL(bed.url).host]);
});

test("the server may be called by another name than its address", async () => {
  const client = await connectAs({ token: bed.token }, { server: bed.url, "tls-server-name": "kubernetes.default.svc" });
  expect(await whoAmI(client)).toBe("admin");
});

describe("what the server or we refuse", () => {
  test("a user without any proof is anonymous and may do nothing", async () => {
    await expect(whoAmI(await connectAs({}))).rejects.toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining("system:anonymous"),
    });
  });

  test("a server whose certificate another authority signed is not spoken to", async () => {
    const client = await connectAs({ token: bed.token }, { "certificate-authority-data": base64(certificateAuthority("another").cert) });
    await expect(whoAmI(client)).rejects.toMatchObject({ reason: "Unreachable", message: expect.stringMatching(/certificate/) });
  });

  test("unless the kubeconfig says not to look", async () => {
    const client = await connectAs({ token: bed.token }, { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true });
    expect(await whoAmI(client)).toBe("admin");
  });
});

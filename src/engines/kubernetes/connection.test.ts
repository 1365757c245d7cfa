import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolveConnection, type Connection, type ConnectionOptions } from "./connection.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-connection-"));
});
afterEach(() => rm(folder, { recursive: true }));

type Env = Record<string, string | undefined>;

function resolve(options: ConnectionOptions, env: Env = {}): Promise<Connection> {
  return resolveConnection(options, { env: { HOME: folder, ...env }, serviceAccountFolder: join(folder, "account") });
}

async function kubeconfig(name: string, cluster: object, user: object = {}): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, ".."), { recursive: true });
  const config = {
    "current-context": "it",
    clusters: [{ name: "it", cluster }],
    users: [{ name: "it", user }],
    contexts: [{ name: "it", context: { cluster: "it", user: "it", namespace: "team" } }],
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

function data(text: string): string {
  return Buffer.from(text).toString("base64");
}

const inPod: Env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

async function mountAccount(): Promise<void> {
  const account = join(folder, "account");
  await mkdir(account);
  await writeFile(join(account, "token"), "pod-token");
  await writeFile(join(account, "ca.crt"), "POD CA");
  await writeFile(join(account, "namespace"), "pod-ns\n");
}

describe("a server that is named directly", () => {
  test("is reached with its token and authority", async () => {
    const connection = await resolve({ url: "https://api:6443/", token: "t", ca: "CA" });
    expect(connection).toMatchObject({ origin: "https://api:6443", basePath: "" });
    expect(connection.rereadMs).toBeUndefined();
    await expect(connection.readCredentials(false)).resolves.toEqual({ headers: { authorization: "Bearer t" }, tls: { ca: "CA" } });
  });

  test("may be behind a path, as where one host serves many clusters", async () => {
    expect(await resolve({ url: "https://rancher/k8s/clusters/c-1/" })).toMatchObject({
      origin: "https://rancher",
      basePath: "/k8s/clusters/c-1",
    });
  });

  test("may be a unix socket", async () => {
    expect(await resolve({ socketPath: "/run/api.sock" })).toMatchObject({ origin: "http://localhost", socketPath: "/run/api.sock" });
  });

  test("must be an address", async () => {
    await expect(resolve({ url: "ftp://x" })).rejects.toThrow(
      '"ftp://x" is not the address of a server; it should look like https://host:6443',
    );
    await expect(resolve({ url: "" })).rejects.toThrow("is not the address of a server");
  });
});

describe("when nothing is said", () => {
  test("KUBECONFIG goes before the home folder, and that before the pod", async () => {
    await mountAccount();
    const one = await kubeconfig("one", { server: "https://one" });
    expect((await resolve({}, inPod)).origin).toBe("https://10.0.0.1");
    await kubeconfig(".kube/config", { server: "https://home" });
    expect((await resolve({}, inPod)).origin).toBe("https://home");
    const env = { ...inPod, KUBECONFIG: [join(folder, "missing"), one].join(delimiter) };
    expect((await resolve({}, env)).origin).toBe("https://one");
    expect((await resolve({ kubeconfig: join(folder, ".kube/config") }, env)).origin).toBe("https://home");
  });

  test("and nothing is there, the error names what was looked for", async () => {
    await expect(resolve({})).rejects.toThrow(
      `no kubeconfig: ${join(folder, ".kube/config")} (the default; KUBECONFIG is not set and this is not a pod)`,
    );
    await expect(resolve({}, { KUBECONFIG: "/no/such" })).rejects.toThrow("no kubeconfig: /no/such (named by KUBECONFIG) does not exist");
  });
});

describe("a kubeconfig", () => {
  test("gives certificates, server name, proxy and namespace", async () => {
    const file = await kubeconfig(
      "config",
      {
        server: "https://api:6443",
        "certificate-authority-data": data("CA"),
        "tls-server-name": "inner",
        "proxy-url": "http://proxy:3128",
      },
      { "client-certificate-data": data("CERT"), "client-key-data": data("KEY") },
    );
    const connection = await resolve({ kubeconfig: file });
    expect(connection).toMatchObject({ origin: "https://api:6443", proxyUrl: "http://proxy:3128", namespace: "team" });
    expect(connection.rereadMs).toBeUndefined();
    await expect(connection.readCredentials(false)).resolves.toEqual({
      headers: {},
      tls: { ca: "CA", cert: "CERT", key: "KEY", servername: "inner" },
    });
  });

  test("with files in it is read again from time to time, and a token file wins over a token", async () => {
    await writeFile(join(folder, "token"), "from-file");
    const file = await kubeconfig("config", { server: "api:8080", "insecure-skip-tls-verify": true }, { token: "t", tokenFile: "token" });
    const connection = await resolve({ kubeconfig: file });
    expect(connection).toMatchObject({ origin: "http://api:8080", rereadMs: 60_000 });
    await expect(connection.readCredentials(false)).resolves.toEqual({
      headers: { authorization: "Bearer from-file" },
      tls: { rejectUnauthorized: false },
    });
  });

  test("can act for another user", async () => {
    const user = {
      username: "ann",
      password: "pw",
      as: "bob",
      "as-uid": "7",
      "as-groups": ["dev", "ops"],
      "as-user-extra": { "team/x": ["a"] },
    };
    const connection = await resolve({ kubeconfig: await kubeconfig("config", { server: "https://api" }, user) });
    expect((await connection.readCredentials(false)).headers).toEqual({
      authorization: `Basic ${Buffer.from("ann:pw").toString("base64")}`,
      "impersonate-user": "bob",
      "impersonate-uid": "7",
      "impersonate-group": ["dev", "ops"],
      "impersonate-extra-team%2Fx": ["a"],
    });
  });
});

describe("in a pod", () => {
  test("the mounted account is used and read again", async () => {
    await mountAccount();
    const connection = await resolve({ inCluster: true }, { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" });
    expect(connection).toMatchObject({ origin: "https://[fd00::1]:6443", namespace: "pod-ns", rereadMs: 60_000 });
    await writeFile(join(folder, "account", "token"), "rotated\n");
    await expect(connection.readCredentials(false)).resolves.toEqual({
      headers: { authorization: "Bearer rotated" },
      tls: { ca: "POD CA" },
    });
  });

  test("what is missing is said", async () => {
    await expect(resolve({ inCluster: true })).rejects.toThrow(
      "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
    );
    await expect(resolve({ inCluster: true }, inPod)).rejects.toThrow(
      `this pod has no service account token at ${join(folder, "account", "token")}. Set automountServiceAccountToken: true`,
    );
  });
});

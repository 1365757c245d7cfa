import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Credentials } from "./credentials.ts";
import type { KubeconfigEntry, KubeconfigUser } from "./kubeconfig.ts";
import { readPluginCredentials, usesPlugin } from "./plugin-credentials.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-plugin-"));
});
afterEach(() => rm(folder, { recursive: true }));

const own: Credentials = { headers: { "impersonate-user": "bob" }, tls: { ca: "CA" } };

function entry(user: Partial<KubeconfigUser>): KubeconfigEntry {
  return { context: "it", namespace: undefined, cluster: { server: "https://api:6443" }, user: { name: "ann", ...user } };
}

/** A plugin that counts its runs, notes what it was told, and answers with `status`. */
async function plugin(status: object): Promise<string> {
  const file = join(folder, "login");
  const answer = JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status });
  const script = [
    "#!/bin/sh",
    `echo run >> ${folder}/runs`,
    `printf %s "$KUBERNETES_EXEC_INFO $1 $EXTRA" > ${folder}/told`,
    `echo '${answer}'`,
  ];
  await writeFile(file, script.join("\n"));
  await chmod(file, 0o755);
  return file;
}

async function runs(): Promise<number> {
  return (await readFile(join(folder, "runs"), "utf8")).split("\n").length - 1;
}

const apiVersion = "client.authentication.k8s.io/v1";

describe("an exec plugin", () => {
  test("gives the token; what the kubeconfig itself says stays", async () => {
    const command = await plugin({ token: "from-plugin" });
    const read = readPluginCredentials(entry({ exec: { apiVersion, command } }), async () => own);
    await expect(read(false)).resolves.toEqual({
      headers: { "impersonate-user": "bob", authorization: "Bearer from-plugin" },
      tls: { ca: "CA" },
    });
  });

  test("may give a client certificate instead", async () => {
    const command = await plugin({ clientCertificateData: "CERT", clientKeyData: "KEY" });
    const read = readPluginCredentials(entry({ exec: { apiVersion, command } }), async () => own);
    expect((await read(false)).tls).toEqual({ ca: "CA", cert: "CERT", key: "KEY" });
  });

  test("runs once for a token that lasts, and again when the server refused it", async () => {
    const command = await plugin({ token: "t" });
    const read = readPluginCredentials(entry({ exec: { apiVersion, command } }), async () => own);
    await read(false);
    await read(false);
    expect(await runs()).toBe(1);
    await read(true);
    expect(await runs()).toBe(2);
  });

  test("runs again when its token has expired", async () => {
    const command = await plugin({ token: "t", expirationTimestamp: "2020-01-01T00:00:00Z" });
    const read = readPluginCredentials(entry({ exec: { apiVersion, command } }), async () => own);
    await read(false);
    await read(false);
    expect(await runs()).toBe(2);
  });

  test("is told the wanted form, its arguments, its environment and, on request, the cluster", async () => {
    const command = await plugin({ token: "t" });
    const exec = { apiVersion, command, args: ["get"], env: [{ name: "EXTRA", value: "more" }], provideClusterInfo: true };
    await readPluginCredentials(entry({ exec }), async () => own)(false);
    const [info = "", ...rest] = (await readFile(join(folder, "told"), "utf8")).split(" ");
    expect(rest).toEqual(["get", "more"]);
    expect(JSON.parse(info)).toEqual({
      apiVersion,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://api:6443" } },
    });
  });

  test("that is not installed fails with its own hint", async () => {
    const exec = { apiVersion, command: join(folder, "missing"), installHint: "Install it from the vendor.\n" };
    await expect(readPluginCredentials(entry({ exec }), async () => own)(false)).rejects.toMatchObject({
      reason: "Unauthorized",
      message: expect.stringMatching(
        /^the credential plugin .*missing of user "ann" in the kubeconfig failed: spawn .*ENOENT\. Install it from the vendor\.$/,
      ),
    });
  });

  test("that fails is quoted", async () => {
    const command = join(folder, "failing");
    await writeFile(command, "#!/bin/sh\necho 'session expired' >&2\nexit 3\n");
    await chmod(command, 0o755);
    await expect(readPluginCredentials(entry({ exec: { apiVersion, command } }), async () => own)(false)).rejects.toThrow(
      "failed: session expired.",
    );
  });
});

test("an auth-provider gives its token too", async () => {
  const token = ["{}", JSON.stringify({ exp: 4_000_000_000 }), ""].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const user = { "auth-provider": { name: "oidc", config: { "id-token": token } } };
  const read = readPluginCredentials(entry(user), async () => own);
  expect((await read(false)).headers["authorization"]).toBe(`Bearer ${token}`);
});

test("only exec and auth-provider entries need a plugin", () => {
  expect(usesPlugin(entry({ token: "t" }))).toBe(false);
  expect(usesPlugin(entry({ exec: { apiVersion, command: "x" } }))).toBe(true);
  expect(usesPlugin(entry({ "auth-provider": { name: "oidc" } }))).toBe(true);
});

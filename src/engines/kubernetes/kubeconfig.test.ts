import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadKubeconfig, type KubeconfigEntry } from "./kubeconfig.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-kubeconfig-"));
});
afterEach(() => rm(folder, { recursive: true }));

const dev = `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: east
  cluster: { server: "https://east:6443", certificate-authority: pki/ca.crt }
users:
- name: ann
  user: { client-certificate: ann.crt, client-key: /abs/ann.key, tokenFile: ../token, exec: { apiVersion: v1, command: ./bin/login } }
- name: nobody
contexts:
- name: dev
  context: { cluster: east, user: ann, namespace: team }
- name: anonymous
  context: { cluster: east }
- name: lost
  context: { cluster: west, user: ann }
- name: stranger
  context: { cluster: east, user: bob }
`;

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  return path;
}

function load(files: readonly string[], context?: string): Promise<KubeconfigEntry> {
  return loadKubeconfig({ files, origin: "named by the test", context });
}

describe("the chosen context", () => {
  test("is the current one, with paths relative to its file", async () => {
    const entry = await load([await file("sub/config", dev)]);
    expect(entry).toEqual({
      context: "dev",
      namespace: "team",
      cluster: { server: "https://east:6443", "certificate-authority": join(folder, "sub/pki/ca.crt") },
      user: {
        name: "ann",
        "client-certificate": join(folder, "sub/ann.crt"),
        "client-key": "/abs/ann.key",
        tokenFile: join(folder, "token"),
        exec: { apiVersion: "v1", command: join(folder, "sub/bin/login") },
      },
    });
  });

  test("is another one for whoever asks, and may be without user and namespace", async () => {
    const entry = await load([await file("config", dev)], "anonymous");
    expect(entry).toMatchObject({ context: "anonymous", namespace: undefined, user: { name: "" } });
  });

  test("a command without a slash is left to PATH", async () => {
    const entry = await load([await file("config", dev.replace("./bin/login", "aws"))]);
    expect(entry.user.exec?.command).toBe("aws");
  });
});

describe("several files", () => {
  test("are one: the first to name a thing wins, and its current-context", async () => {
    const second = dev.replace("https://east:6443", "https://never").replace("current-context: dev", "current-context: lost");
    const third = "clusters: [{ name: west, cluster: { server: 'https://west' } }]";
    const files = [await file("a", dev), await file("b", second), await file("c", third)];
    expect((await load(files)).cluster.server).toBe("https://east:6443");
    expect((await load(files, "lost")).cluster.server).toBe("https://west");
  });

  test("may be partly missing or empty, but not all", async () => {
    const missing = join(folder, "missing");
    expect((await load([missing, await file("empty", ""), await file("b", dev)])).context).toBe("dev");
    await expect(load([missing, join(folder, "too")])).rejects.toThrow(
      `no kubeconfig: ${missing} and ${join(folder, "too")} (named by the test) does not exist. Name an existing file`,
    );
  });
});

describe("what is wrong is named, with what would be right", () => {
  const cases: readonly (readonly [string, string, string | undefined, string])[] = [
    ["an unknown context", dev, "prod", 'context "prod" is not in FILE, which has: dev, anonymous, lost, stranger'],
    [
      "no current context",
      dev.replace("current-context: dev", ""),
      undefined,
      "sets no current-context. Choose one of its contexts (dev, ",
    ],
    ["a context of a missing cluster", dev, "lost", 'context "lost" of FILE refers to cluster "west", which is not there or has no server'],
    ["a context of a missing user", dev, "stranger", 'context "stranger" of FILE refers to user "bob", which is not there'],
    ["broken YAML", "a: [", undefined, "kubeconfig FILE is not valid: "],
    ["a list instead of a config", "users: 7", undefined, "kubeconfig FILE is not valid: "],
  ];
  test.each(cases)("%s", async (_, text, context, message) => {
    const path = await file("config", text);
    await expect(load([path], context)).rejects.toThrow(message.replace("FILE", path));
  });

  test("a file that cannot be read", async () => {
    await expect(load([folder])).rejects.toThrow(`cannot read kubeconfig ${folder}: Error: EISDIR`);
  });
});

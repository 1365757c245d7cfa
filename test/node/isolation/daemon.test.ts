import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { envdPort, header, signInit } from "#envd-protocol/arming.ts";
import { twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();

/** In the shell: the first process has one child, the daemon; commands come from outside. */
const daemon = "$(pgrep -P 1)";

/** Posts /init from inside and prints the status, then whether the daemon says that it is armed. */
const arm = (headers: Readonly<Record<string, string>>, body: string): string => `
import http.client, json
def ask(method, path, body=None, headers={}):
    connection = http.client.HTTPConnection("127.0.0.1", ${envdPort}, timeout=10)
    connection.request(method, path, body, headers)
    return connection.getresponse()
print(ask("POST", "/init", ${JSON.stringify(body)}, json.loads(${JSON.stringify(JSON.stringify(headers))})).status)
print(ask("GET", "/health").getheader("${header.armed}"))
`;

async function headersOfHealth(ip: string): Promise<Headers> {
  const { headers } = await fetch(`http://${ip}:${envdPort}/health`);
  return headers;
}

async function signedByStranger(): Promise<Record<string, string>> {
  const health = await headersOfHealth(box.mine.ip);
  const subject = { podUid: box.mine.uid, bootId: health.get(header.bootId) ?? "", sandboxId: "stolen" };
  const { privateKey } = generateKeyPairSync("ed25519");
  return { [header.sandboxId]: "stolen", [header.signature]: signInit(privateKey, subject, Buffer.from("{}")) };
}

describe.each(users)("as %s", (user) => {
  test.each([
    ["no signature", async () => ({})],
    ["an empty signature", async () => ({ [header.sandboxId]: "stolen", [header.signature]: "" })],
    ["a signature of zeros", async () => ({ [header.sandboxId]: "stolen", [header.signature]: Buffer.alloc(64).toString("base64") })],
    ["somebody else's signature", signedByStranger],
  ])("a waiting daemon cannot be armed from inside with %s", async (_, headers) => {
    expect(await box.mine.python(arm(await headers(), "{}"), user)).toBe("401\nno");
  });

  test("a waiting daemon gives nothing but its health", async () => {
    const source = `
import http.client
for method, path in [("GET", "/"), ("GET", "/files?path=/etc/shadow"), ("POST", "/process.Process/Start"), ("GET", "/envs"), ("GET", "/metrics")]:
    connection = http.client.HTTPConnection("127.0.0.1", ${envdPort}, timeout=10)
    connection.request(method, path)
    print(connection.getresponse().status)`;
    expect(new Set((await box.mine.python(source, user)).split("\n"))).toEqual(new Set(["503"]));
  });

  test("the daemon's files are the machine's and cannot be written to", async () => {
    expect(await box.mine.says("stat -c %U /.envd/node /.envd/init /.envd/envd.cjs | sort -u", user)).toBe("nobody");
    const files = "/.envd/node /.envd/init /.envd/envd.cjs /.envd/lib/ld.so";
    const { stdout } = await box.mine.sh(
      `for file in ${files}; do test -w $file && echo $file; (: >> $file) 2>/dev/null && echo $file; done`,
      user,
    );
    expect(stdout).toBe("");
  });
});

test("the user of a sandbox can neither kill, trace nor read the daemon", async () => {
  expect((await box.mine.sh(`kill -9 ${daemon}`, "user")).code).toBe(1);
  const { stdout } = await box.mine.sh(`for pid in 1 ${daemon}; do cat /proc/$pid/environ /proc/$pid/mem; ls /proc/$pid/fd; done`, "user");
  expect(stdout).toBe("");
  expect(await box.mine.health()).toBe(204);
});

test("the environment of a waiting daemon holds names and a public key, no secret", async () => {
  const names = await box.mine.says(`for pid in 1 ${daemon}; do tr '\\0' '\\n' < /proc/$pid/environ | cut -d= -f1; done | sort -u`);
  expect(names.split("\n")).toEqual(["AGENTBOX_DOORS", "AGENTBOX_POD_UID", "AGENTBOX_PUBLIC_KEY", "HOME", "HOSTNAME", "LANG", "PATH"]);
});

test("the memory of a waiting daemon holds nothing of the control plane", async () => {
  // All that can be written in it, read as root of the sandbox; its own data folder's name and PEM keys are looked for.
  const source = `
import re, subprocess
pid = subprocess.check_output(["pgrep", "-P", "1"]).split()[0].decode()
found = set()
with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/mem" % pid, "rb", 0) as memory:
    for line in maps:
        area = re.match(r"(\\w+)-(\\w+) rw.. \\S+ 00:00 0", line)
        if area is None: continue
        start, end = (int(part, 16) for part in area.groups())
        try: memory.seek(start); held = memory.read(min(end - start, 64 << 20))
        except (OSError, OverflowError, ValueError): continue
        for word in (b"-----BEGIN PRIVATE KEY-----", b"objects.db", NAME):
            if word in held: found.add(word.decode())
        found.add("read")
print(sorted(found))`;
  const name = `NAME = b${JSON.stringify(box.world.home)}\n`;
  expect(await box.mine.python(name + source)).toBe("['read']");
});

test("a neighbour's daemon cannot be reached, let alone armed", async () => {
  const source = `
import socket
try: socket.create_connection(("${box.other.ip}", ${envdPort}), timeout=2); print("connected")
except OSError: print("refused")`;
  for (const user of users) expect(await box.mine.python(source, user)).toBe("refused");
  expect((await headersOfHealth(box.other.ip)).get(header.armed)).toBe("no");
});

test("whoever takes the daemon's port after killing it as root cannot answer for another sandbox", async () => {
  // The daemon is the sandbox's: its root may end it, and the pod's container ends with it.
  const before = await headersOfHealth(box.other.ip);
  await box.mine.sh(`kill -9 ${daemon}`);
  await expect.poll(() => box.mine.health()).toBe(204);
  const after = await headersOfHealth(box.other.ip);
  expect(after.get(header.bootId)).toBe(before.get(header.bootId));
  expect((await headersOfHealth(box.mine.ip)).get(header.armed)).toBe("no");
  expect(readFileSync(`/proc/${box.mine.pid}/comm`, "utf8").trim()).toBe("init");
});

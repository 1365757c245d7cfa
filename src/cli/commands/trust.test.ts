import { describe, expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import type { SystemTrust, TrustStore } from "../system-trust.ts";

const authorityFile = "/home/me/it's/authority.crt";

class Store implements TrustStore {
  readonly name = "Debian's";
  readonly bundle = "/etc/ssl/all.crt";
  readonly mayChange: boolean;
  installed: boolean;
  failure: Error | undefined;

  constructor({ mayChange = true, installed = false } = {}) {
    this.mayChange = mayChange;
    this.installed = installed;
  }

  readonly isInstalled = async (): Promise<boolean> => this.installed;

  readonly install = async (): Promise<void> => {
    if (this.failure !== undefined) throw this.failure;
    this.installed = true;
  };

  readonly remove = async (): Promise<boolean> => {
    const was = this.installed;
    this.installed = false;
    return was;
  };
}

function run(system: SystemTrust, ...flags: readonly string[]): Promise<Said> {
  return agentbox(["trust", ...flags], { trust: async () => system });
}

test("trust installs the authority, and says what it cannot do", async () => {
  const store = new Store();
  const { stdout, code } = await run({ authorityFile, store });
  expect([store.installed, code]).toEqual([true, 0]);
  for (const said of [authorityFile, "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE=/etc/ssl/all.crt", "Firefox"]) expect(stdout).toContain(said);
});

test("--remove takes it back, and says when there was nothing", async () => {
  const store = new Store({ installed: true });
  expect((await run({ authorityFile, store }, "--remove")).stdout).toBe("Removed from Debian's list\n");
  expect((await run({ authorityFile: undefined, store }, "--remove")).stdout).toBe("Debian's list has no authority of this data folder\n");
});

describe("--print changes nothing, needs no root, and prints what a shell can take", () => {
  const quoted = String.raw`'/home/me/it'\''s/authority.crt'`;

  test("with all authorities for Python when ours is among them", async () => {
    const store = new Store({ installed: true, mayChange: false });
    expect((await run({ authorityFile, store }, "--print")).stdout).toBe(
      `export NODE_EXTRA_CA_CERTS=${quoted}\nexport SSL_CERT_FILE='/etc/ssl/all.crt'\nexport REQUESTS_CA_BUNDLE='/etc/ssl/all.crt'\n`,
    );
  });

  test.each([new Store(), undefined])("with ours alone when it is not, and a word about that", async (store) => {
    const { stdout } = await run({ authorityFile, store }, "--print");
    expect(stdout).toMatch(/^# Python trusts nothing else/);
    expect(stdout.split("\n").slice(1)).toEqual([
      `export NODE_EXTRA_CA_CERTS=${quoted}`,
      `export SSL_CERT_FILE=${quoted}`,
      `export REQUESTS_CA_BUNDLE=${quoted}`,
      "",
    ]);
    expect(store?.installed ?? false).toBe(false);
  });
});

const broken = new Store();
broken.failure = new Error("update-ca-certificates: disk full");

test.each([
  ["a user without root rights", { authorityFile, store: new Store({ mayChange: false }) }, [], "needs root: sudo agentbox trust"],
  [
    "a removal without root rights",
    { authorityFile, store: new Store({ mayChange: false }) },
    ["--remove"],
    "sudo agentbox trust --remove",
  ],
  ["a system that we do not know", { authorityFile, store: undefined }, [], `The authority is ${authorityFile}`],
  ["a folder without an authority", { authorityFile: undefined, store: new Store() }, [], "the first start of AgentBox"],
  ["the same, printed", { authorityFile: undefined, store: new Store() }, ["--print"], "the first start of AgentBox"],
  ["a program that fails", { authorityFile, store: broken }, [], "could not be changed: update-ca-certificates: disk full"],
])("%s is told why", async (_, system, flags, message) => {
  const { stderr, code } = await run(system, ...flags);
  expect([stderr, code]).toEqual([expect.stringContaining(message), 1]);
});

test.each([[["here"]], [["--remove", "--print"]]])("%j is no way to call it", async (argv) => {
  expect((await run({ authorityFile, store: new Store() }, ...argv)).code).toBe(2);
});

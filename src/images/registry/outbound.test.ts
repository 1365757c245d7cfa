/** Registries that try to send the control plane elsewhere. What counts as public here is 127.0.0.1; 127.0.0.2 plays the inside. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRegistry, type Fault, pullSecret } from "../../../test/world/fake-registry.ts";
import { imageOf } from "../../../test/world/image-fixture.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { isImageError } from "../image-error.ts";
import { parseReference, type RegistryReference } from "../reference.ts";
import { RegistryClient, type RegistryClientDeps } from "./client.ts";
import { Outbound } from "./outbound.ts";

const image = imageOf([[{ name: "file", content: "hello" }]]);
const plain = /^[^(]*: the registry cannot be reached or is not allowed$/;
const stack: AsyncDisposable[] = [];
/** A registry that an attacker runs. */
let hostile: FakeRegistry;
/** A service that only this machine is to reach. It hands out tokens, as metadata services do. */
let inside: FakeRegistry;

beforeEach(async () => {
  hostile = await FakeRegistry.start();
  inside = await FakeRegistry.start({ address: "127.0.0.2" });
  inside.fault = ({ path }) => (path.startsWith("/v2/") ? undefined : { status: 200, body: JSON.stringify({ token: "inner-secret" }) });
  stack.push(hostile, inside);
  for (const registry of [hostile, inside]) registry.add("team/app", "1", image);
});
afterEach(async () => {
  for (const one of stack.splice(0)) await one[Symbol.asyncDispose]();
});

interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly detail?: string | undefined;
  readonly digest?: string;
}

async function ask(host: string, deps: Partial<RegistryClientDeps> = {}, secrets: readonly string[] = []): Promise<Outcome> {
  await using client = new RegistryClient({
    clock: new SteppedClock(),
    random: () => 0.5,
    outbound: { isPublic: (address) => address === "127.0.0.1" },
    ...deps,
  });
  const remote = client.open(parseReference(`${host}/team/app:1`) as RegistryReference, secrets);
  try {
    return { digest: (await remote.manifest("1")).digest };
  } catch (error) {
    if (!isImageError(error)) throw error;
    return { code: error.code, message: error.message, detail: error.detail };
  }
}

/** The closed door, whatever is behind it. */
function expectClosed(outcome: Outcome, secrets: readonly string[] = [inside.host, hostile.host.split(":")[1] ?? ""]): void {
  expect(outcome).toMatchObject({ code: "not_allowed", message: expect.stringMatching(plain) as string });
  const told = outcome.message?.replace(/^the manifest of \S+/, "") ?? "";
  for (const secret of secrets) expect(told).not.toContain(secret);
}

describe("a registry inside", () => {
  test("is not asked", async () => {
    expectClosed(await ask(inside.host));
    expect(inside.requests).toEqual([]);
  });

  test.each(["127.2", "2130706434", "0x7f000002", "0177.0.0.2"])("is not asked under the name %s", async (name) => {
    const port = inside.host.split(":")[1];
    expectClosed(await ask(`${name}:${port}`));
    expect(inside.requests).toEqual([]);
  });

  test.each(["private", "plainHttp"] as const)("is asked when %s names it", async (list) => {
    expect(await ask(inside.host, { settings: { [list]: [inside.host] } })).toEqual({ digest: image.digest });
  });

  test("is asked as a mirror that the settings name", async () => {
    expect(await ask("registry.example", { settings: { mirrors: { "registry.example": [inside.host] } } })).toEqual({
      digest: image.digest,
    });
  });

  test("is not asked at another port than the one that is named", async () => {
    expectClosed(await ask(inside.host, { settings: { private: ["127.0.0.2:1"] } }));
    expect(await ask(inside.host, { settings: { private: ["127.0.0.2:*"] } })).toEqual({ digest: image.digest });
  });

  test("looks to tenants like a port where nothing listens, and admins read which it was", async () => {
    const closed = await ask(inside.host);
    const empty = await ask("127.0.0.2:1");
    expect(closed.message?.replace(inside.host, "")).toBe(empty.message?.replace("127.0.0.2:1", ""));
    expect(closed.detail).toMatch(/^http:\/\/127\.0\.0\.2:\d+: 127\.0\.0\.2 has no public address/);
  });
});

describe("names", () => {
  const deps = (...answers: readonly string[][]): Partial<RegistryClientDeps> => {
    let asked = 0;
    return {
      settings: { plainHttp: [] },
      outbound: {
        isPublic: (address) => address === "127.0.0.1",
        resolve: (_name, _options, callback) => {
          const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
          callback(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          );
        },
      },
    };
  };
  const named = (registry: FakeRegistry): string => `registry.localhost:${registry.host.split(":")[1]}`;

  test("that lead inside are not followed", async () => {
    expectClosed(await ask(named(inside), deps(["127.0.0.2"])));
    expect(inside.requests).toEqual([]);
  });

  test("that lead to both sides are followed to the public one only", async () => {
    expect(await ask(named(hostile), deps(["127.0.0.2", "127.0.0.1"]))).toEqual({ digest: image.digest });
  });

  test("are resolved once for a connection: what was checked is what is connected to", async () => {
    // A name server that answers with a public address first, and with a private one when it is asked again.
    expect(await ask(named(hostile), deps(["127.0.0.1"], ["127.0.0.2"]))).toEqual({ digest: image.digest });
    expect(inside.requests).toEqual([]);
  });
});

describe("a redirect", () => {
  const to =
    (location: string): ((request: { path: string }) => Fault) =>
    () => ({ status: 307, headers: { location } });

  test("inside is not followed", async () => {
    hostile.fault = to(`http://${inside.host}/latest/meta-data/`);
    expectClosed(await ask(hostile.host));
    expect(inside.requests).toEqual([]);
  });

  test("inside is not followed by a public registry even if the settings open that host for itself", async () => {
    hostile.fault = to(`http://${inside.host}/v2/team/app/manifests/1`);
    const settings = { private: [inside.host] };
    expectClosed(await ask(hostile.host, { settings }));
    expect(inside.requests).toEqual([]);
    expect(await ask(inside.host, { settings })).toEqual({ digest: image.digest });
  });

  test("through a third host is judged again", async () => {
    const between = await FakeRegistry.start();
    stack.push(between);
    hostile.fault = to(`http://${between.host}/v2/team/app/manifests/1`);
    between.fault = to(`http://${inside.host}/`);
    expectClosed(await ask(hostile.host));
    expect([between.requests.length, inside.requests.length]).toEqual([1, 0]);
  });

  test("away and back loses the credentials", async () => {
    const away = await FakeRegistry.start();
    stack.push(away);
    const owned = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
    stack.push(owned);
    owned.fault = ({ path, authorization }) =>
      authorization !== undefined && !path.includes("back") ? { status: 307, headers: { location: `http://${away.host}/x` } } : undefined;
    away.fault = to(`http://${owned.host}/v2/back/manifests/1`);
    await ask(owned.host, {}, [pullSecret({ [owned.host]: ["ann", "secret"] })]);
    expect(away.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(owned.requests.filter(({ path }) => path.includes("back")).map(({ authorization }) => authorization)).toEqual([undefined]);
  });
});

describe("a token server", () => {
  const challenge = (realm: string): Fault => ({ status: 401, headers: { "www-authenticate": `Bearer realm="${realm}",service="x"` } });

  test("inside is not asked, and its token is sent to nobody", async () => {
    hostile.fault = () => challenge(`http://${inside.host}/token`);
    expectClosed(await ask(hostile.host));
    expect(inside.requests).toEqual([]);
    expect(hostile.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  test("on another public host is not asked unless it is named for this registry", async () => {
    const other = await FakeRegistry.start();
    stack.push(other);
    const realm = `http://localhost:${other.host.split(":")[1]}/token`;
    hostile.fault = ({ path, authorization }) => (path.startsWith("/v2/") && authorization === undefined ? challenge(realm) : undefined);
    const outbound = { isPublic: () => true };
    const refused = await ask(hostile.host, { outbound });
    expectClosed(refused);
    expect(refused.detail).toContain(`write "tokenServers": {"${hostile.host}": ["localhost:`);
    expect(other.requests).toEqual([]);
    const settings = { tokenServers: { [hostile.host]: [new URL(realm).host] } };
    expect(await ask(hostile.host, { outbound, settings })).toEqual({ digest: image.digest });
  });

  test("may not hand the question on", async () => {
    const other = await FakeRegistry.start();
    stack.push(other);
    hostile.fault = ({ path }) =>
      path.startsWith("/token")
        ? { status: 307, headers: { location: `http://${other.host}/token?x` } }
        : challenge(`http://${hostile.host}/token`);
    expectClosed(await ask(hostile.host));
    expect(other.requests).toEqual([]);
  });

  test.each([
    ["https://registry-1.docker.io", "https://auth.docker.io/token", true],
    ["https://registry.gitlab.com", "https://gitlab.com/jwt/auth", true],
    ["https://ghcr.io", "https://ghcr.io/token", true],
    ["https://registry.example:5000", "https://registry.example:5001/auth", true],
    ["https://evil.example", "https://auth.docker.io/token", false],
    ["https://registry-1.docker.io", "https://auth.docker.io.evil.example/token", false],
    ["https://registry-1.docker.io", "https://auth.docker.io:8443/token", false],
  ])("of %s at %s: %s", (registry, server, allowed) => {
    const check = (): string => {
      try {
        new Outbound({}).checkTokenServer("a token", new URL(registry), new URL(server));
        return "allowed";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(check()).toMatch(allowed ? /^allowed$/ : plain);
  });
});

test("by default the machine's own addresses are closed, the public ones included", async () => {
  for (const host of [hostile.host, `localhost:${hostile.host.split(":")[1]}`, `[::1]:${hostile.host.split(":")[1]}`]) {
    expect(await ask(host, { outbound: {} })).toMatchObject({ code: "not_allowed" });
  }
  expect(hostile.requests).toEqual([]);
});

test.each(["a b", "http://x", "x/y", "user@x", "", "x:port"])("%j among the hosts of the settings is refused", (entry) => {
  expect(() => new Outbound({ private: [entry] })).toThrow(/is not a host/);
});

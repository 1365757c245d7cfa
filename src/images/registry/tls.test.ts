import { afterAll, beforeAll, expect, test } from "vitest";
import { certificateAuthority, serverCertificate } from "../../../test/kubernetes/certificates.ts";
import { FakeRegistry } from "../../../test/world/fake-registry.ts";
import { imageOf } from "../../../test/world/image-fixture.ts";
import { systemClock } from "#lib/clock.ts";
import { parseReference, type RegistryReference } from "../reference.ts";
import { RegistryClient } from "./client.ts";

const image = imageOf([[{ name: "file" }]]);
let registry: FakeRegistry;
let certificate: string;

beforeAll(async () => {
  const authority = certificateAuthority("tests");
  certificate = authority.cert;
  registry = await FakeRegistry.start({ tls: serverCertificate(authority), scheme: "bearer" });
  registry.add("app", "1", image);
});
afterAll(() => registry[Symbol.asyncDispose]());

async function digest(certificates: readonly string[], settings: { tls?: readonly string[] }, host = registry.host): Promise<string> {
  await using client = new RegistryClient({ clock: systemClock, random: () => 0, certificates, settings });
  return (await client.open(parseReference(`${host}/app:1`) as RegistryReference).manifest("1")).digest;
}

test("a certificate that is trusted is trusted, for tokens too", async () => {
  expect(await digest([certificate], { tls: [registry.host] })).toBe(image.digest);
});

test("a certificate that nobody vouches for is refused at once, as a matter of TLS", async () => {
  const before = registry.requests.length;
  await expect(digest([], { tls: [registry.host] })).rejects.toMatchObject({ code: "tls" });
  expect(registry.requests.length).toBe(before);
});

test("a registry that does not speak TLS is a matter of TLS", async () => {
  await using plain = await FakeRegistry.start();
  await expect(digest([], { tls: [plain.host] }, plain.host)).rejects.toMatchObject({ code: "tls" });
});

test("redirects and token servers in the clear are refused when the registry speaks TLS", async () => {
  registry.fault = () => ({ status: 302, headers: { location: "http://storage.example/blob" } });
  const refused = (detail: string): object => ({ code: "not_allowed", detail: expect.stringContaining(detail) as string });
  await expect(digest([certificate], { tls: [registry.host] })).rejects.toMatchObject(refused("from https to http://storage.example"));
  registry.fault = () => ({ status: 302, headers: { location: `http://${registry.host}/` } });
  await expect(digest([certificate], { tls: [registry.host] })).rejects.toMatchObject(refused("from https to http://127.0.0.1"));
  registry.fault = () => ({ status: 401, headers: { "www-authenticate": 'Bearer realm="http://auth.example/token"' } });
  await expect(digest([certificate], { tls: [registry.host] })).rejects.toMatchObject(refused("in the clear to http://auth.example"));
});

import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { localCertificates } from "./local-certificates.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-certificates-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const day = 24 * 3_600_000;

test("the certificate is good for every sandbox of the domain, and signed by the authority that can be trusted", async () => {
  const { authorityFile, certificate } = await localCertificates(folder, "box.localhost", new SteppedClock());
  const authority = new X509Certificate(await readFile(authorityFile, "utf8"));
  const cert = new X509Certificate(certificate.cert);
  expect(cert.checkHost("3000-abc.box.localhost")).toBe("*.box.localhost");
  expect(cert.checkHost("box.localhost")).toBe("box.localhost");
  expect(cert.checkHost("other.localhost")).toBeUndefined();
  expect(cert.verify(authority.publicKey)).toBe(true);
  expect(cert.checkIssued(authority)).toBe(true);
  expect(authority.ca).toBe(true);
  expect(cert.ca).toBe(false);
});

test("a later start finds the same certificates, and nobody else may read the keys", async () => {
  const clock = new SteppedClock();
  const first = await localCertificates(folder, "box.localhost", clock);
  const second = await localCertificates(folder, "box.localhost", clock);
  expect(second).toEqual(first);
  for (const name of ["authority.key", "server.key"]) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
});

test("a certificate that is about to run out is made anew by the same authority", async () => {
  const clock = new SteppedClock();
  const first = await localCertificates(folder, "box.localhost", clock);
  const authority = await readFile(first.authorityFile, "utf8");
  await clock.step(380 * day);
  const second = await localCertificates(folder, "box.localhost", clock);
  expect(second.certificate.cert).not.toBe(first.certificate.cert);
  expect(await readFile(second.authorityFile, "utf8")).toBe(authority);
});

test("another domain gets a certificate of its own", async () => {
  const clock = new SteppedClock();
  await localCertificates(folder, "box.localhost", clock);
  const { certificate } = await localCertificates(folder, "team.test", clock);
  expect(new X509Certificate(certificate.cert).checkHost("80-x.team.test")).toBe("*.team.test");
});

import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { signedBy, signedByItself } from "../../test/world/own-authority.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { type Certificate, localCertificates } from "./local-certificates.ts";
import { isConstrainedTo } from "./name-constraints.ts";

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

test("a later start finds the same certificates, and only the owner can read the keys", async () => {
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

test("another domain gets a certificate and an authority of its own: the one before may not sign for it", async () => {
  const clock = new SteppedClock();
  const first = await localCertificates(folder, "box.localhost", clock);
  const authority = await readFile(first.authorityFile, "utf8");
  const { certificate, isReplaced } = await localCertificates(folder, "team.test", clock);
  expect(new X509Certificate(certificate.cert).checkHost("80-x.team.test")).toBe("*.team.test");
  expect(await readFile(first.authorityFile, "utf8")).not.toBe(authority);
  expect([first.isReplaced, isReplaced]).toEqual([false, true]);
});

test("an authority from before it was limited is made anew, with its key, and the certificate too", async () => {
  const old = await signedByItself("AgentBox on this machine");
  const [keyFile, certFile] = [join(folder, "authority.key"), join(folder, "authority.crt")];
  await writeFile(keyFile, old.key);
  await writeFile(certFile, old.cert);
  const { certificate, isReplaced } = await localCertificates(folder, "box.localhost", systemClock);
  const authority = new X509Certificate(await readFile(certFile, "utf8"));
  expect([isReplaced, isConstrainedTo(authority, "box.localhost"), isConstrainedTo(authority, "localhost")]).toEqual([true, true, false]);
  expect(await readFile(keyFile, "utf8")).not.toBe(old.key);
  expect(new X509Certificate(certificate.cert).verify(authority.publicKey)).toBe(true);
  expect((await localCertificates(folder, "box.localhost", systemClock)).isReplaced).toBe(false);
});

describe("a client that trusts the authority", () => {
  /** What it says to a server with this certificate when it connects to this name. */
  async function connected(ca: string, { key, cert }: Certificate, servername: string): Promise<string> {
    const server = createServer({ key, cert }).on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: "127.0.0.1", port, ca, ...(servername === "127.0.0.1" ? {} : { servername }) });
    try {
      await once(socket, "secureConnect");
      return "trusted";
    } catch (error) {
      return (error as Error).message;
    } finally {
      socket.destroy();
      server.close();
    }
  }

  test("believes it about names of its domain, and about nothing else, though its key has signed for it", async () => {
    const { authorityFile, certificate } = await localCertificates(folder, "box.localhost", systemClock);
    const ca = await readFile(authorityFile, "utf8");
    const authority = { cert: ca, key: await readFile(join(folder, "authority.key"), "utf8") };
    for (const name of ["box.localhost", "3000-abc.box.localhost", "api.box.localhost"]) {
      expect([name, await connected(ca, certificate, name)]).toEqual([name, "trusted"]);
    }
    const stolen = async (name: string): Promise<string> => connected(ca, await signedBy(authority, { dns: name }), name);
    for (const name of ["bank.test", "localhost", "notbox.localhost", "box.localhost.evil.test"]) {
      expect([name, await stolen(name)]).toEqual([name, "permitted subtree violation"]);
    }
    expect(await stolen("other.box.localhost")).toBe("trusted");
    const both = await signedBy(authority, { dns: "box.localhost" }, { dns: "bank.test" });
    expect(await connected(ca, both, "box.localhost")).toBe("permitted subtree violation");
    const address = await signedBy(authority, { dns: "box.localhost" }, { ip: "127.0.0.1" });
    expect(await connected(ca, address, "127.0.0.1")).toBe("excluded subtree violation");
  });
});

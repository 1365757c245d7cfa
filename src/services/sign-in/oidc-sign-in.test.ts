/** Against a real provider, in a process of its own. */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { OidcProviderProcess } from "../../../test/world/oidc-provider-process.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { readOidcSettings } from "./oidc-settings.ts";
import { OidcSignIn } from "./oidc-sign-in.ts";

const url = "http://127.0.0.1:21500";
const provider = await OidcProviderProcess.start(`${url}/console/oidc`);
afterAll(() => provider[Symbol.asyncDispose]());

const { privateKey } = generateKeyPairSync("ed25519");
const clock = new SteppedClock();

function signIn({ issuer = provider.issuer, clientId = "agentbox", secret = "a secret of the client's" } = {}): OidcSignIn {
  const groups = [
    { group: "platform", role: "admin" },
    { group: "research", team: "red" },
  ];
  const settings = readOidcSettings(
    JSON.stringify({ issuer, clientId, url, name: "The login", scopes: ["openid", "profile", "groups"], groups }),
  );
  return new OidcSignIn({ settings, clientSecret: secret === "" ? undefined : secret, privateKey, clock, log: recordedLog().log });
}

async function finished(by: OidcSignIn, name: string, action?: "cancel") {
  const { url: address, flow } = await by.start();
  return await by.finish(flow, await provider.answerTo(address, name, action));
}

test("a person is who the provider says, in the team of its group", async () => {
  expect(await finished(signIn(), "ann.research")).toEqual({ role: "tenant", team: "red", keyId: "oidc:ann" });
  expect(await finished(signIn(), "bob.platform")).toEqual({ role: "admin", team: "", keyId: "oidc:bob" });
});

test("a client without a secret signs in, by PKCE alone", async () => {
  expect(await finished(signIn({ clientId: "public", secret: "" }), "ann.research")).toMatchObject({ team: "red" });
});

test("what one process began, another one with the same control plane's key finishes", async () => {
  const { url: address, flow } = await signIn().start();
  expect(await signIn().finish(flow, await provider.answerTo(address, "ann.research"))).toMatchObject({ team: "red" });
});

test("a person in no group of the file is refused", async () => {
  await expect(finished(signIn(), "eve.sales")).rejects.toMatchObject({
    code: "forbidden",
    message: expect.stringContaining("none of your 1 groups"),
  });
});

test("a person that cancels is told so, without the words that came with the address", async () => {
  await expect(finished(signIn(), "ann", "cancel")).rejects.toMatchObject({
    code: "forbidden",
    message: "The login did not let you in: access_denied",
  });
});

test("an answer is good for the browser that began, once, and for ten minutes", async () => {
  const by = signIn();
  const [mine, foreign] = [await by.start(), await by.start()];
  const answer = await provider.answerTo(mine.url, "ann.research");
  await expect(by.finish(foreign.flow, answer)).rejects.toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining("another sign-in"),
  });
  await expect(by.finish("", answer)).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(by.finish(`${mine.flow.slice(0, -2)}xx`, answer)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await by.finish(mine.flow, answer)).toMatchObject({ team: "red" });
  await expect(by.finish(mine.flow, answer)).rejects.toMatchObject({ code: "unauthenticated" });
  await clock.step(10 * 60_000);
  await expect(by.finish(mine.flow, answer)).rejects.toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining("more than ten minutes ago"),
  });
});

test("a wrong client secret is the server's fault, and said so", async () => {
  await expect(finished(signIn({ secret: "wrong" }), "ann.research")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("The login refuses this server"),
  });
});

test("a provider that does not answer is asked again at the next sign-in", async () => {
  const gone = await OidcProviderProcess.start(`${url}/console/oidc`);
  await gone[Symbol.asyncDispose]();
  const by = signIn({ issuer: gone.issuer });
  await expect(by.start()).rejects.toMatchObject({ code: "unavailable" });
  await expect(by.start()).rejects.toMatchObject({ code: "unavailable" });
});

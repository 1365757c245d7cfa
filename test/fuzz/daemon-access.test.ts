import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fileSignature } from "#envd-protocol/file-signature.ts";
import { attack } from "./fuzz.ts";
import { type CagedDaemon, cagedDaemon, secret, untouched } from "./caged-daemon.ts";
import { methods } from "./odd-frames.ts";
import { escaped, oddText } from "./odd-values.ts";
import { headerText } from "./raw-exchange.ts";

const token = "a-token-nobody-guesses";
let daemon: CagedDaemon;
beforeAll(async () => {
  daemon = await cagedDaemon({ accessToken: token });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
});

const inAnHour = Math.floor(Date.now() / 1000) + 3600;
const anHourAgo = inAnHour - 7200;

/** Good for one file, one operation, one user and some time: none of them is what will be asked for. */
const foreign = fc
  .record({
    path: fc.constantFrom("/scratch/file", "canary/secret", "/canary/secret/", "/canary/../canary/secret", "/canary/secret"),
    operation: fc.constantFrom("read" as const, "write" as const),
    user: fc.constantFrom("", "root", "user"),
    expiration: fc.constantFrom(undefined, anHourAgo, inAnHour, 0),
    by: fc.constantFrom(token, "another-token", ""),
  })
  .map(({ by, ...file }) => ({
    ...file,
    by,
    signature: fileSignature(by, { ...file, ...(file.expiration === undefined ? {} : { expiration: file.expiration }) } as never),
  }));

const presented = fc.oneof(
  fc.constant(undefined),
  oddText.map((text) => headerText(text).slice(0, 300)),
  fc.constantFrom(`${token} `.trimEnd().slice(0, -1), `${token}x`, token.toUpperCase(), `Bearer ${token}`, ""),
);

const asked = fc.record({
  method: fc.constantFrom("GET" as const, "POST" as const),
  path: fc.constantFrom("/canary/secret", "/canary/untouched"),
  user: fc.constantFrom(undefined, "root", "user"),
  signed: foreign,
  /** What is done to the signature on its way. */
  mangled: fc.constantFrom("not", "not", "prefix", "case", "cut", "padded", "twice"),
  expiration: fc.oneof(
    fc.constantFrom("same", "none"),
    escaped(fc.constantFrom(String(inAnHour), String(anHourAgo), "1e12", "-1", " ", "9".repeat(30), "0x7fffffff")),
  ),
  token: presented,
  rpc: fc.option(fc.constantFrom(...methods), { freq: 4 }),
});

function mangle(signature: string, how: string): string {
  const ways: Readonly<Record<string, string>> = {
    prefix: signature.replace("v1_", "v2_"),
    case: signature.toUpperCase(),
    cut: signature.slice(0, -2),
    padded: `${signature}=`,
    twice: `${signature}&signature=${signature}`,
  };
  return ways[how] ?? signature;
}

type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

/** Whether it happens to be what would have to be let in. */
function isRight({ method, path, user, signed, mangled, expiration, token: given }: Asked): boolean {
  const operation = { GET: "read", POST: "write" }[method];
  const isSame = signed.path === path && signed.user === (user ?? "") && signed.operation === operation;
  const isInTime =
    signed.expiration === undefined
      ? expiration === "none" || expiration === "same"
      : signed.expiration === inAnHour && (expiration === "same" || expiration === String(inAnHour));
  return given === undefined && mangled === "not" && signed.by === token && isSame && isInTime;
}

function queryOf({ path, user, signed, mangled, expiration }: Asked): string {
  const stated = expiration === "none" ? undefined : expiration;
  const end = stated === "same" ? signed.expiration : stated;
  return [
    `path=${encodeURIComponent(path)}`,
    ...(user === undefined ? [] : [`username=${user}`]),
    `signature=${mangle(encodeURIComponent(signed.signature), mangled)}`,
    ...(end === undefined ? [] : [`signature_expiration=${end}`]),
  ].join("&");
}

test("without the token, or a signature for this very file, operation and user, nothing is read, written or run", async () => {
  await attack("tokens and signatures", asked, async (given) => {
    fc.pre(!isRight(given));
    const { method, path, rpc, token: presentedToken } = given;
    const type = ["Content-Type", rpc === null ? "application/octet-stream" : "application/json"] as const;
    const headers = presentedToken === undefined ? [type] : [type, ["X-Access-Token", presentedToken] as const];
    const line = rpc === null ? `${method} /files?${queryOf(given)}` : `POST /${rpc.path}?${queryOf(given)}`;
    const body = method === "POST" || rpc !== null ? Buffer.from(JSON.stringify({ path })) : undefined;
    const { text, statuses } = await daemon.ask(line, headers, body);
    expect([line, statuses]).toEqual([line, [401]]);
    expect(text).not.toContain(secret);
    return statuses;
  });
  const right = await daemon.ask("GET /files?path=/canary/untouched", [["X-Access-Token", token]]);
  expect(right.text).toMatch(new RegExp(`\\r\\n\\r\\n${untouched}$`));
  expect(daemon.complaints).toEqual([]);
});

import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attack } from "./fuzz.ts";
import { type CagedDaemon, cagedDaemon } from "./caged-daemon.ts";
import { brokenJson, escaped, oddJson, oddPath, oddText } from "./odd-values.ts";
import { exchange, headerText, type Heard, request } from "./raw-exchange.ts";

let daemon: CagedDaemon;
beforeAll(async () => {
  daemon = await cagedDaemon();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
});

/** The one 5xx: its disk is full (507). */
function expectNoFailure({ text, statuses }: Heard): readonly number[] {
  expect(statuses.some((status) => status >= 500 && status !== 507) ? text : "").toBe("");
  expect(daemon.complaints).toEqual([]);
  return statuses;
}

/** Also that what was uploaded before leaves room for more. */
async function expectAlive(): Promise<void> {
  const type = [["Content-Type", "application/octet-stream"]] as const;
  const removed = await daemon.ask(
    "POST /filesystem.Filesystem/Remove",
    [["Content-Type", "application/json"]],
    Buffer.from('{"path":"/scratch/uploads"}'),
  );
  expect(removed.statuses).toEqual([200]);
  expect((await daemon.ask("POST /files?path=/scratch/good", type, Buffer.from("good"))).statuses).toEqual([200]);
  expect((await daemon.ask("GET /files?path=/scratch/good", [])).text).toMatch(/\r\n\r\ngood$/);
}

/** Uploads go where they harm nothing: below one folder, unless the path is one of those that the cage keeps from changing. */
const target = fc
  .oneof(oddPath, fc.constantFrom("a", "b", "a/b", "c/d/e"))
  .map((path) => `/scratch/uploads/${path.replaceAll("..", "dots").slice(0, 4000)}`);
const disposition = fc.oneof(
  target.map((path) => `form-data; name="file"; filename="${path}"`),
  oddText.map((text) => `form-data; name="file"; filename*=utf-8''${text.slice(0, 100)}`),
  fc.constantFrom(
    'form-data; name="file"',
    'form-data; name="file"; filename=""',
    "form-data",
    'form-data; name="other"; filename="x"',
    "",
  ),
  oddText,
);
const part = fc
  .record({
    disposition,
    header: fc.constantFrom("Content-Disposition", "Content-Disposition", "Content-Disposition", "content-disposition ", "X"),
    contents: fc.uint8Array({ maxLength: 60 }),
  })
  .map(({ disposition: about, header, contents }) =>
    Buffer.concat([Buffer.from(`--b\r\n${header}: ${about}\r\n\r\n`), contents, Buffer.from("\r\n")]),
  );
const scraps = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "--b",
        "--b\r\n",
        "--b--",
        "\r\n",
        "\r\n\r\n",
        "\n\n",
        'Content-Disposition: form-data; name="file"; filename="',
        '"',
        "--",
        "\0",
      ),
      fc.string({ maxLength: 20 }),
      fc.constant("x".repeat(20_000)),
    ),
    { maxLength: 12 },
  )
  .map((texts) => Buffer.from(texts.join("")));
const form = fc.oneof(
  fc
    .tuple(fc.array(part, { maxLength: 4 }), fc.constantFrom("--b--\r\n", "--b--", "--b", ""))
    .map(([parts, end]) => Buffer.concat([...parts, Buffer.from(end)])),
  scraps,
);
const metadata = fc.array(
  fc.tuple(
    fc.oneof(
      fc.constantFrom("X-Metadata-a", "X-Metadata-", "x-metadata-a", `X-Metadata-${"k".repeat(300)}`),
      fc.stringMatching(/^X-Metadata-[!#$%&'*+.^_`|~\w-]{1,10}$/),
    ),
    oddText.map((text) => headerText(text)),
  ),
  { maxLength: 2 },
);

test("no form or body, however wrong, ends the daemon, hangs, or is answered by a failure of its own", async () => {
  const input = fc.record({
    kind: fc.constantFrom("form", "form", "octets", "compose"),
    boundary: fc.constantFrom("b", "b", "b", "b", "b", "b", '"b"', '"b"', "", "c", '"', "b".repeat(300)),
    form,
    octets: fc.uint8Array({ maxLength: 200 }),
    compose: fc.oneof(
      brokenJson,
      fc
        .record({
          source_paths: fc.oneof(fc.array(oddPath, { maxLength: 3 }), oddJson),
          destination: fc.oneof(target, oddJson),
          username: oddJson,
        })
        .map((body) => Buffer.from(JSON.stringify(body))),
    ),
    path: fc.option(escaped(target), { nil: undefined }),
    user: fc.constantFrom("", "", "", "", "&username=root", "&username=user", "&username=nobody", "&username=%00"),
    zip: fc.constantFrom("no", "no", "no", "no", "yes", "lie", "cut", "br"),
    metadata,
    cut: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(60) }),
  });
  await attack("forms and bodies of files", input, async (given) => {
    const type =
      given.kind === "form"
        ? `multipart/form-data; boundary=${given.boundary}`
        : given.kind === "octets"
          ? "application/octet-stream"
          : "application/json";
    const plain = Buffer.from({ form: given.form, octets: given.octets, compose: given.compose }[given.kind]);
    const zipped = gzipSync(plain);
    const body = { no: plain, yes: zipped, lie: plain, cut: zipped.subarray(0, zipped.length - 3), br: plain }[given.zip];
    const encoding = given.zip === "no" ? [] : [["Content-Encoding", given.zip === "br" ? "br" : "gzip"] as const];
    const line =
      given.kind === "compose" ? "POST /files/compose" : `POST /files?${given.path === undefined ? "" : `path=${given.path}`}${given.user}`;
    const whole = request(line, [["Content-Type", type], ...encoding, ...given.metadata], body);
    const bytes = given.cut === undefined ? whole : whole.subarray(0, Math.max(0, whole.length - given.cut));
    return expectNoFailure(await exchange({ port: daemon.port, bytes: [bytes], cut: given.cut !== undefined }));
  });
  await expectAlive();
});

test("no path, user or range, however wrong, ends the daemon, hangs, or is answered by a failure of its own", async () => {
  const input = fc.record({
    method: fc.constantFrom("GET", "GET", "GET", "GET", "HEAD", "PUT", "DELETE", "OPTIONS"),
    path: escaped(oddPath),
    user: fc.oneof(fc.constantFrom(undefined, undefined, undefined, "root", "user"), escaped(oddText)),
    range: fc.oneof(
      fc.constant(undefined),
      fc.constantFrom("bytes=0-", "bytes=-0", "bytes=5-2", "bytes=0-0,1-1", "bytes=99999999999999999999-", "lines=1-2"),
      oddText,
    ),
    headers: fc.array(
      fc.tuple(
        fc.constantFrom("If-None-Match", "If-Range", "If-Modified-Since", "Accept-Encoding"),
        oddText.map((text) => headerText(text).slice(0, 500)),
      ),
      { maxLength: 2 },
    ),
  });
  await attack("paths of files", input, async ({ method, path, user, range, headers }) => {
    const query = `path=${path}${user === undefined ? "" : `&username=${user}`}`;
    const about = range === undefined ? headers : [...headers, ["Range", headerText(range).slice(0, 500)] as const];
    return expectNoFailure(await daemon.ask(`${method} /files?${query}`, about));
  });
  await expectAlive();
});

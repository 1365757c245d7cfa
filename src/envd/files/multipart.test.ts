import fc from "fast-check";
import { expect, test } from "vitest";
import { boundaryOf, MultipartError, readParts } from "./multipart.ts";

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size: number): Promise<{ name: string | undefined; filename: string | undefined; text: string }[]> {
  const parts = [];
  for await (const { name, filename, contents } of readParts(inPieces(bytes, size), "b")) {
    const chunks = [];
    for await (const chunk of contents) chunks.push(chunk);
    parts.push({ name, filename, text: Buffer.concat(chunks).toString("latin1") });
  }
  return parts;
}

test("any contents come out as they went in, however the body is cut", async () => {
  const contents = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
  // Things that look like the boundary without being it.
  const tricky = fc
    .array(fc.oneof(contents, fc.constantFrom("\r\n--", "\r\n-", "--b", "\r", "\n")), { maxLength: 5 })
    .map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        tricky.filter((text) => !text.includes("\r\n--b")),
        { maxLength: 4 },
      ),
      fc.integer({ min: 1, max: 50 }),
      async (texts, size) => {
        const parts = texts.map(
          (text, index) => `--b\r\nContent-Disposition: form-data; name="file"; filename="d/${index}"\r\n\r\n${text}\r\n`,
        );
        const got = await read(Buffer.from(`${parts.join("")}--b--\r\n`, "latin1"), size);
        expect(got).toEqual(texts.map((text, index) => ({ name: "file", filename: `d/${index}`, text })));
      },
    ),
  );
});

test.for(["", "--b", "--b\r\n", "--b\r\nContent-Disposition: form-data\r\n\r\nx", "--bx\r\n\r\n", "nothing of the kind"])(
  "the body %j is refused",
  async (text) => {
    await expect(read(Buffer.from(text), 3)).rejects.toThrow(MultipartError);
  },
);

test("names are read as browsers write them", async () => {
  const [part] = await read(
    Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a%22b;c.txt"\r\n\r\n\r\n--b--'),
    100,
  );
  expect(part?.filename).toBe('a"b;c.txt');
});

test("a boundary is found with and without quotes", () => {
  expect(boundaryOf('multipart/form-data; charset=x; boundary="a b"')).toBe("a b");
  expect(boundaryOf("Multipart/Form-Data; boundary=ab; x=y")).toBe("ab");
  expect(boundaryOf("application/json")).toBeUndefined();
});

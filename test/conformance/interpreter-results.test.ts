/** The kinds of results. Tables and charts need pandas and matplotlib: those of the sandbox, or ours for its version of Python. */
import { readFile } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { describeInterpreters } from "./describe-sdks.ts";
import { scienceArchive } from "./install.ts";
import type { InterpreterSandbox } from "./interpreter-sdk.ts";

describeInterpreters("results", (use) => {
  test("a text is shown without its quotes", async () => {
    expect((await use.sandbox.runCode("'it\\'s'")).text).toBe("it's");
    expect((await use.sandbox.runCode("'a text'")).text).toBe("a text");
  });

  test("nothing is no result", async () => {
    for (const code of ["x = 1", "None", "", "# nothing", "1;"]) expect((await use.sandbox.runCode(code)).results).toEqual([]);
  });

  test.each([
    { kind: "html", shown: "HTML('<b>1</b>')", value: "<b>1</b>" },
    { kind: "markdown", shown: "Markdown('# 1')", value: "# 1" },
    { kind: "svg", shown: "SVG('<svg></svg>')", value: "<svg></svg>" },
    { kind: "png", shown: "Image(b'\\x89PNG-1')", value: Buffer.from("\x89PNG-1", "latin1").toString("base64") },
    { kind: "jpeg", shown: "Image(b'\\xff\\xd8-1')", value: Buffer.from("\xff\xd8-1", "latin1").toString("base64") },
    { kind: "latex", shown: "Latex('$x^2$')", value: "$x^2$" },
    { kind: "json", shown: "JSON({'a': [1, None]})", value: { a: [1, null] } },
    { kind: "javascript", shown: "Javascript('alert(1)')", value: "alert(1)" },
  ])("$kind is a result of its own kind", async ({ kind, shown, value }) => {
    const { results } = await use.sandbox.runCode(`from IPython.display import *\n${shown}`);
    expect(results).toEqual([expect.objectContaining({ [kind]: value, isMainResult: true })]);
    expect(results[0]?.formats()).toContain(kind);
  });

  test("an object says itself how it is shown, in several kinds at once", async () => {
    const code = `class Shown:
    def _repr_pdf_(self): return b"%PDF"
    def _repr_html_(self): return "<i>shown</i>"
    def _repr_mimebundle_(self, include=None, exclude=None): return {"text/markdown": "*shown*"}
    def __repr__(self): return "shown"
Shown()`;
    const [result] = (await use.sandbox.runCode(code)).results;
    expect(result).toMatchObject({ text: "shown", html: "<i>shown</i>", pdf: "JVBERg==", markdown: "*shown*" });
    expect(result?.formats().toSorted()).toEqual(["html", "markdown", "pdf"]);
  });

  test("what is displayed comes before the value, and only that is the main result", async () => {
    const { results, text } = await use.sandbox.runCode("for n in range(3): display(n)\n'last'");
    expect(results.map((one) => [one.text, one.isMainResult])).toEqual([
      ["0", false],
      ["1", false],
      ["2", false],
      ["last", true],
    ]);
    expect(text).toBe("last");
  });

  test("an object of JavaScript says itself how it is shown", async () => {
    const code = "({ [Symbol.for('Jupyter.display')]() { return { 'text/html': '<b>js</b>', 'application/json': { a: 1 } } } })";
    const [result] = (await use.sandbox.runCode(code, { language: "javascript" })).results;
    expect(result).toMatchObject({ html: "<b>js</b>", json: { a: 1 }, isMainResult: true });
  });

  test("displays of JavaScript come before the value", async () => {
    const { results } = await use.sandbox.runCode("display(1); display({ a: 2 }); 3", { language: "javascript" });
    expect(results.map(({ text, isMainResult }) => [text, isMainResult])).toEqual([
      ["1", false],
      ["{ a: 2 }", false],
      ["3", true],
    ]);
  });
});

/** False: the sandbox's Python has none of it, and we have nothing for its version. */
async function bringScience(sandbox: InterpreterSandbox): Promise<boolean> {
  if ((await sandbox.runCode("import pandas, matplotlib")).error === undefined) return true;
  const version = (await sandbox.runCode("import sys; '%d.%d' % sys.version_info[:2]")).text ?? "";
  const archive = scienceArchive(version);
  if (archive === undefined) return false;
  await sandbox.files.write("/tmp/packages.tgz", new Blob([await readFile(archive)]));
  await sandbox.commands.run("mkdir science && tar -xzf /tmp/packages.tgz -C science && rm /tmp/packages.tgz");
  await sandbox.runCode("import sys; sys.path.insert(0, '/home/user/science')");
  return (await sandbox.runCode("import pandas, matplotlib")).error === undefined;
}

const noScience = "the sandbox's Python has no pandas and matplotlib, and there are none for its version";

describeInterpreters("tables and charts", (use) => {
  let hasScience = false;
  beforeAll(async () => {
    hasScience = await bringScience(use.sandbox);
    await use.sandbox.runCode("import pandas as pd, matplotlib.pyplot as plt, datetime");
  }, 120_000);

  test("a data frame is a table, and its values", async ({ skip }) => {
    skip(!hasScience, noScience);
    const columns = "'n': [1, 2], 'f': [1.5, float('nan')], 's': ['a', 'ü'], 't': pd.to_datetime(['2026-01-02', '2026-03-04'])";
    const [result] = (await use.sandbox.runCode(`pd.DataFrame({${columns}})`)).results;
    expect(result?.html).toContain("<table");
    expect(result?.text).toContain("2026-01-02");
    expect(result?.data).toEqual({ n: [1, 2], f: [1.5, null], s: ["a", "ü"], t: ["2026-01-02T00:00:00", "2026-03-04T00:00:00"] });
  });

  test.for(["plt.plot([1, 2])\nplt.show()\nNone", "plt.plot([1, 2]);", "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig"])(
    "a figure is a picture, once: %s",
    async (code, { skip }) => {
      skip(!hasScience, noScience);
      const { results } = await use.sandbox.runCode(code);
      expect(
        results.map(({ png }) =>
          Buffer.from(png ?? "", "base64")
            .subarray(1, 4)
            .toString(),
        ),
      ).toEqual(["PNG"]);
    },
  );

  test("an image that is saved to a file is shown, and a figure that is saved is not shown twice", async ({ skip }) => {
    skip(!hasScience, noScience);
    const saved = await use.sandbox.runCode("from PIL import Image\nImage.new('RGB', (4, 4)).save('image.png')");
    expect(saved.results.map(({ png }) => png?.slice(0, 5))).toEqual(["iVBOR"]);
    const inMemory = await use.sandbox.runCode("import io\nImage.new('RGB', (4, 4)).save(io.BytesIO(), 'png')");
    expect(inMemory.results).toEqual([]);
    expect((await use.sandbox.runCode("plt.plot([1, 2]); plt.savefig('figure.png'); plt.show()")).results).toHaveLength(1);
  });

  test.for([
    {
      type: "line",
      code: "plt.plot([1, 2, 3], [1, 4, 9], label='squares'); plt.title('T'); plt.xlabel('Time (s)'); plt.ylabel('Size'); plt.show()",
      chart: { title: "T", x_label: "Time (s)", x_unit: "s", y_label: "Size", y_unit: null, x_scale: "linear" },
      elements: [
        {
          label: "squares",
          points: [
            [1, 1],
            [2, 4],
            [3, 9],
          ],
        },
      ],
    },
    {
      type: "line",
      code: "plt.plot([datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)], [1, 2]); plt.show()",
      chart: { x_scale: "datetime", y_scale: "linear" },
      elements: [
        {
          points: [
            ["2026-01-01", 1],
            ["2026-01-03", 2],
          ],
        },
      ],
    },
    {
      type: "scatter",
      code: "plt.scatter([1, 2], [3, 4], label='a'); plt.scatter([5], [6], label='b'); plt.yscale('log'); plt.show()",
      chart: { y_scale: "log" },
      elements: [
        {
          label: "a",
          points: [
            [1, 3],
            [2, 4],
          ],
        },
        { label: "b", points: [[5, 6]] },
      ],
    },
    {
      type: "bar",
      code: "plt.bar(['x', 'y'], [1, 2], label='g'); plt.show()",
      chart: {},
      elements: [
        { label: "x", value: 1, group: "g" },
        { label: "y", value: 2, group: "g" },
      ],
    },
    {
      type: "bar",
      code: "plt.barh(['x', 'y'], [1, 2]); plt.show()",
      chart: {},
      elements: [
        { label: "x", value: 1 },
        { label: "y", value: 2 },
      ],
    },
    {
      type: "pie",
      code: "plt.pie([1, 3], labels=['small', 'large']); plt.show()",
      chart: {},
      elements: [
        { label: "small", angle: 90, radius: 1 },
        { label: "large", angle: 270 },
      ],
    },
    {
      type: "pie",
      code: "plt.pie([1, 2, 4], startangle=90); plt.show()",
      chart: {},
      elements: [{ angle: expect.closeTo(360 / 7, 9) }, { angle: expect.closeTo(720 / 7, 9) }, { angle: expect.closeTo(1440 / 7, 9) }],
    },
    {
      type: "box_and_whisker",
      code: "plt.boxplot([[1, 2, 3, 4, 5, 20]]); plt.show()",
      chart: {},
      elements: [{ label: "1", min: 1, median: 3.5, max: 5, first_quartile: 2.25, third_quartile: 4.75, outliers: [20] }],
    },
    {
      type: "box_and_whisker",
      code: "plt.boxplot([[1, 2, 3, 4, 5, 20], [2, 2, 2]], patch_artist=True, notch=True); plt.xlabel('Class [c]'); plt.show()",
      chart: { x_label: "Class [c]", x_unit: "c" },
      elements: [
        { label: "1", min: 1, median: 3.5, max: 5, first_quartile: 2.25, third_quartile: 4.75, outliers: [20] },
        { label: "2", min: 2, median: 2, max: 2 },
      ],
    },
    {
      type: "box_and_whisker",
      code: "plt.boxplot([[1, 2, 3, 4, 5, 20]], vert=False, patch_artist=True); plt.show()",
      chart: {},
      elements: [{ label: "1", min: 1, median: 3.5, max: 5, first_quartile: 2.25, third_quartile: 4.75, outliers: [20] }],
    },
    {
      type: "superchart",
      code: "fig, (a, b) = plt.subplots(1, 2); fig.suptitle('both'); a.plot([1, 2]); b.bar(['x'], [1]); plt.show()",
      chart: { title: "both" },
      elements: [{ type: "line" }, { type: "bar" }],
    },
  ])("$type: $code is told as data", async ({ type, code, chart, elements }, { skip }) => {
    skip(!hasScience, noScience);
    const [result] = (await use.sandbox.runCode(code)).results;
    expect(result?.chart).toMatchObject({ type, ...chart, elements });
  });
});

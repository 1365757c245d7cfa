import { expect, test } from "vitest";
import { describeInterpreters } from "./describe-sdks.ts";

describeInterpreters("contexts", (use) => {
  test("a new one speaks Python and is at home", async () => {
    const context = await use.sandbox.createCodeContext();
    expect(context).toEqual({ id: expect.stringMatching(/./), language: "python", cwd: "/home/user" });
    expect((await use.sandbox.runCode("import os; os.getcwd()", { context })).text).toBe("/home/user");
    await use.sandbox.removeCodeContext(context);
  });

  test.each([
    { language: "python", code: "import os; print(os.getcwd())" },
    { language: "javascript", code: "console.log(process.cwd())" },
    { language: "typescript", code: "console.log(process.cwd() as string)" },
    { language: "bash", code: "pwd" },
  ])("one of $language is in the folder that was asked for", async ({ language, code }) => {
    const context = await use.sandbox.createCodeContext({ language, cwd: "/usr/lib" });
    expect(context).toMatchObject({ language, cwd: "/usr/lib" });
    expect((await use.sandbox.runCode(code, { context })).logs.stdout).toEqual(["/usr/lib\n"]);
    await use.sandbox.removeCodeContext(context);
  });

  test("a folder that is not there is refused", async () => {
    await expect(use.sandbox.createCodeContext({ cwd: "/not/there" })).rejects.toThrow(/^400 /);
  });

  test("a language that is not there is refused", async () => {
    await expect(use.sandbox.createCodeContext({ language: "cobol" })).rejects.toThrow(/^400 /);
  });

  test("all are listed, with those of Python and JavaScript that are there from the start", async () => {
    const sandbox = await use.create();
    const one = await sandbox.createCodeContext({ language: "bash", cwd: "/tmp" });
    const listed = await sandbox.listCodeContexts();
    expect(listed.map(({ language, cwd }) => `${language} ${cwd}`).toSorted()).toEqual([
      "bash /tmp",
      "javascript /home/user",
      "python /home/user",
    ]);
    expect(listed).toContainEqual(one);
  });

  test("they know nothing of each other", async () => {
    const [one, two] = [await use.sandbox.createCodeContext(), await use.sandbox.createCodeContext()];
    await use.sandbox.runCode("mine = 1", { context: one });
    expect((await use.sandbox.runCode("mine", { context: two })).error?.name).toBe("NameError");
    expect((await use.sandbox.runCode("mine")).error?.name).toBe("NameError");
    expect((await use.sandbox.runCode("mine", { context: one })).text).toBe("1");
    await Promise.all([one, two].map((context) => use.sandbox.removeCodeContext(context)));
  });

  test("a restart loses the names and keeps the context, by itself or by its id", async () => {
    const context = await use.sandbox.createCodeContext({ cwd: "/tmp" });
    for (const which of [context, context.id]) {
      await use.sandbox.runCode("mine = 1", { context });
      await use.sandbox.restartCodeContext(which);
      expect((await use.sandbox.runCode("mine", { context })).error?.name).toBe("NameError");
    }
    expect((await use.sandbox.runCode("import os; os.getcwd()", { context })).text).toBe("/tmp");
    await use.sandbox.removeCodeContext(context.id);
  });

  test("a restart ends what runs", async () => {
    const context = await use.sandbox.createCodeContext();
    const inside = Promise.withResolvers<void>();
    const running = use.sandbox.runCode("print('in')\nwhile True: pass", { context, onStdout: () => inside.resolve() });
    await inside.promise;
    await use.sandbox.restartCodeContext(context);
    expect((await running).error?.name).toBe("ContextEnded");
  });

  test("one that is removed is gone for everybody", async () => {
    const context = await use.sandbox.createCodeContext();
    await use.sandbox.runCode("1", { context });
    await use.sandbox.removeCodeContext(context);
    expect((await use.sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
    await expect(use.sandbox.runCode("1", { context })).rejects.toThrow(context.id);
    await expect(use.sandbox.removeCodeContext(context)).rejects.toThrow(context.id);
    await expect(use.sandbox.restartCodeContext(context)).rejects.toThrow(context.id);
  });

  test("the removal of a language's own context is no end to that language", async () => {
    const sandbox = await use.create();
    await sandbox.runCode("mine = 1");
    const own = (await sandbox.listCodeContexts()).find(({ language }) => language === "python");
    await sandbox.removeCodeContext(own?.id ?? "");
    expect((await sandbox.runCode("mine")).error?.name).toBe("NameError");
    expect((await sandbox.runCode("1 + 1")).text).toBe("2");
  });

  test("a context and a language at once make no sense", async () => {
    const context = await use.sandbox.createCodeContext();
    const both = use.sandbox.runCode("1", { context, language: "python" });
    await expect(both).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
    await use.sandbox.removeCodeContext(context);
  });

  test("ten run at the same time", async () => {
    const contexts = await Promise.all(Array.from({ length: 10 }, () => use.sandbox.createCodeContext()));
    // Each waits for all others: they would wait for ever if one came after the other.
    const meet = (n: number): string =>
      `import os, time\nos.makedirs('meeting', exist_ok=True)\nopen('meeting/${n}', 'w').close()\n` +
      `while len(os.listdir('meeting')) < 10: time.sleep(0.02)\n${n}`;
    const runs = await Promise.all(contexts.map((context, n) => use.sandbox.runCode(meet(n), { context })));
    expect(runs.map(({ text }) => text)).toEqual(contexts.map((_, n) => `${n}`));
    await Promise.all(contexts.map((context) => use.sandbox.removeCodeContext(context)));
  });
});

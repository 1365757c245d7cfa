import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";

describeSdks("watches", (use) => {
  const watch = async (path: string, recursive = false) => {
    const seen: string[] = [];
    const handle = await use.sandbox.files.watchDir(path, ({ name, type }) => seen.push(`${type} ${name}`), { recursive });
    return { handle, seen };
  };

  test("what happens in a folder is told", async () => {
    await use.sandbox.files.makeDir("watched");
    const { handle, seen } = await watch("watched");
    await use.sandbox.commands.run("cd watched; echo 1 > a; chmod 600 a; mv a b; rm b");
    await eventually(() =>
      expect(seen).toEqual(expect.arrayContaining(["create a", "write a", "chmod a", "rename a", "create b", "remove b"])),
    );
    await handle.stop();
  });

  test("folders below are watched when asked for, new ones too", async () => {
    await use.sandbox.files.makeDir("above/below");
    const { handle, seen } = await watch("above", true);
    await use.sandbox.files.write("above/below/file", "x");
    await use.sandbox.files.makeDir("above/new");
    await eventually(() => expect(seen).toEqual(expect.arrayContaining(["create below/file", "create new"])));
    await use.sandbox.files.write("above/new/later", "x");
    await eventually(() => expect(seen).toContain("create new/later"));
    await handle.stop();
  });

  test("a stopped watch tells nothing more", async () => {
    await use.sandbox.files.makeDir("quiet");
    const { handle, seen } = await watch("quiet");
    await handle.stop();
    await use.sandbox.files.write("quiet/file", "x");
    expect(seen).toEqual([]);
  });

  test("watching what is not there is an error of its own", async () => {
    await expect(watch("/not/there")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("watching a file is an invalid argument", async () => {
    await expect(watch("/etc/passwd")).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
  });
});

import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";
import type { FileEvent } from "./sdk.ts";

describeSdks("files", (use) => {
  const shell = async (command: string): Promise<string> => (await use.sandbox.commands.run(command, { user: "root" })).stdout;

  test("what is written is read again", async () => {
    const { files } = use.sandbox;
    expect(await files.write("/home/user/a.txt", "hello ✓")).toMatchObject({ name: "a.txt", path: "/home/user/a.txt" });
    expect(await files.read("/home/user/a.txt")).toBe("hello ✓");
  });

  test("paths without a slash are in the home of the user", async () => {
    await use.sandbox.files.write("notes/today.txt", "sun");
    expect(await shell("cat /home/user/notes/today.txt")).toBe("sun");
    expect(await use.sandbox.files.read("notes/today.txt")).toBe("sun");
  });

  test("what is written belongs to the user, with folders on the way to it", async () => {
    await use.sandbox.files.write("/home/user/deep/er/file", "x");
    expect(await shell("stat -c '%U %a' /home/user/deep/er /home/user/deep/er/file")).toBe("user 755\nuser 644\n");
  });

  test("root may write too, and owns it", async () => {
    await use.sandbox.files.write("/root/mine", "x", { user: "root" });
    expect(await shell("stat -c %U /root/mine")).toBe("root\n");
  });

  test("a file is written over", async () => {
    await use.sandbox.files.write("over", "long first contents");
    await use.sandbox.files.write("over", "short");
    expect(await use.sandbox.files.read("over")).toBe("short");
  });

  test("an empty file is a file", async () => {
    await use.sandbox.files.write("empty", "");
    expect(await use.sandbox.files.read("empty")).toBe("");
    expect((await use.sandbox.files.getInfo("empty")).size).toBe(0);
  });

  test("bytes are kept as they are, in all forms of reading", async () => {
    const bytes = Uint8Array.from({ length: 65_536 }, (_, n) => (n * 7) % 256);
    await use.sandbox.files.write("bytes.bin", bytes.buffer);
    expect(Buffer.from(await use.sandbox.files.read("bytes.bin", { format: "bytes" })).equals(Buffer.from(bytes))).toBe(true);
    const blob = await use.sandbox.files.read("bytes.bin", { format: "blob" });
    expect(Buffer.from(await blob.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
    const stream = await use.sandbox.files.read("bytes.bin", { format: "stream" });
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
  });

  test("a blob and a stream can be written", async () => {
    await use.sandbox.files.write("blob", new Blob(["of a blob"]));
    await use.sandbox.files.write("stream", new Blob(["of a stream"]).stream());
    expect([await use.sandbox.files.read("blob"), await use.sandbox.files.read("stream")]).toEqual(["of a blob", "of a stream"]);
  });

  test("several files are written with one call", async () => {
    const written = await use.sandbox.files.write([
      { path: "many/a", data: "A" },
      { path: "many/b/c", data: "C" },
    ]);
    expect(written.map(({ path }) => path)).toEqual(["/home/user/many/a", "/home/user/many/b/c"]);
    expect(await shell("cat /home/user/many/a /home/user/many/b/c")).toBe("AC");
  });

  test("a name with spaces, quotes and other letters is a name", async () => {
    const path = '/home/user/it\'s "a" ünïcode & 100% +1 #?.txt';
    await use.sandbox.files.write(path, "found");
    expect(await use.sandbox.files.read(path)).toBe("found");
    expect((await use.sandbox.files.list("/home/user")).map((entry) => entry.path)).toContain(path);
  });

  test("reading what is not there is an error of its own", async () => {
    await expect(use.sandbox.files.read("/not/there")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("reading a folder is an invalid argument", async () => {
    await expect(use.sandbox.files.read("/usr")).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
  });

  test("a folder is listed with what its entries are", async () => {
    await shell(
      "mkdir -p /home/user/ls/sub && printf abc > /home/user/ls/file && ln -s file /home/user/ls/link && chown -R user: /home/user/ls",
    );
    const entries = await use.sandbox.files.list("ls");
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ["file", "file"],
      ["link", "file"],
      ["sub", "dir"],
    ]);
    expect(entries[0]).toMatchObject({
      path: "/home/user/ls/file",
      size: 3,
      mode: 0o644,
      permissions: "-rw-r--r--",
      owner: "user",
      group: "user",
    });
    expect(entries[0]?.modifiedTime).toBeInstanceOf(Date);
    expect(entries[1]?.symlinkTarget).toBe("/home/user/ls/file");
    expect(entries[2]?.permissions).toBe("drwxr-xr-x");
  });

  test("a listing goes as deep as it is told", async () => {
    await shell("mkdir -p /home/user/tree/a/b/c");
    const names = async (depth: number): Promise<string[]> =>
      (await use.sandbox.files.list("tree", { depth })).map(({ path }) => path.slice(16));
    expect(await names(1)).toEqual(["a"]);
    expect(await names(3)).toEqual(["a", "a/b", "a/b/c"]);
  });

  test("listing what is not there is an error of its own", async () => {
    await expect(use.sandbox.files.list("/not/there")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("listing a file is an invalid argument", async () => {
    await expect(use.sandbox.files.list("/etc/passwd")).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
  });

  test("a new folder is made with those above it, and is not made twice", async () => {
    expect(await use.sandbox.files.makeDir("new/er/est")).toBe(true);
    expect(await use.sandbox.files.makeDir("new/er/est")).toBe(false);
    expect(await shell("stat -c '%U %F' /home/user/new/er/est")).toBe("user directory\n");
  });

  test("a folder cannot be made where a file is", async () => {
    await use.sandbox.files.write("in-the-way", "x");
    await expect(use.sandbox.files.makeDir("in-the-way")).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
  });

  test("a file is renamed, into folders that were not there", async () => {
    await use.sandbox.files.write("old-name", "same");
    expect(await use.sandbox.files.rename("old-name", "fresh/new-name")).toMatchObject({ path: "/home/user/fresh/new-name", type: "file" });
    expect([await use.sandbox.files.exists("old-name"), await use.sandbox.files.read("fresh/new-name")]).toEqual([false, "same"]);
  });

  test("renaming what is not there is an error of its own", async () => {
    await expect(use.sandbox.files.rename("never", "ever")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("what is removed is gone, folders with all in them", async () => {
    await use.sandbox.files.write("going/going", "x");
    await use.sandbox.files.remove("going");
    expect(await use.sandbox.files.exists("going")).toBe(false);
  });

  test("removing what is not there is no error", async () => {
    await expect(use.sandbox.files.remove("never-was")).resolves.toBeUndefined();
  });

  test("one entry is told about", async () => {
    await use.sandbox.files.write("one", "12345");
    expect(await use.sandbox.files.getInfo("one")).toMatchObject({
      name: "one",
      type: "file",
      path: "/home/user/one",
      size: 5,
      owner: "user",
    });
    expect(await use.sandbox.files.getInfo("/home")).toMatchObject({ name: "home", type: "dir", owner: "root" });
    await expect(use.sandbox.files.getInfo("none")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("a thousand small files, eight at a time", async () => {
    const names = Array.from({ length: 1000 }, (_, n) => `small/${n}`);
    const queue = [...names];
    const worker = async (): Promise<void> => {
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) await use.sandbox.files.write(name, name);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(await use.sandbox.files.list("small")).toHaveLength(1000);
    expect(await shell("cat /home/user/small/777")).toBe("small/777");
  }, 120_000);

  test("a thousand small files with one call", async () => {
    const wanted = Array.from({ length: 1000 }, (_, n) => ({ path: `at-once/${n % 10}/${n}`, data: `${n}` }));
    expect(await use.sandbox.files.write(wanted)).toHaveLength(1000);
    expect(await shell("find /home/user/at-once -type f | wc -l; cat /home/user/at-once/7/777")).toBe("1000\n777");
  }, 120_000);

  test("who reads while another writes over sees the old or the new, and nothing between", async () => {
    const [old, fresh] = ["o".repeat(200_000), "n".repeat(300_000)];
    await use.sandbox.files.write("swap", old);
    const writing = Promise.all(Array.from({ length: 5 }, () => use.sandbox.files.write("swap", fresh)));
    const seen = await Promise.all(Array.from({ length: 10 }, () => use.sandbox.files.read("swap")));
    expect(seen.filter((text) => text !== old && text !== fresh)).toEqual([]);
    await writing;
    expect(await use.sandbox.files.read("swap")).toBe(fresh);
  });

  test("a link that leads nowhere is no file, and is removed", async () => {
    await use.sandbox.commands.run("ln -sf /not/there broken");
    await expect(use.sandbox.files.read("broken")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
    await use.sandbox.files.remove("broken");
    expect(await shell("ls -l /home/user/broken 2>&1 || true")).toMatch(/No such file/);
  });

  test("what files wrote, commands read, and the other way round", async () => {
    await use.sandbox.files.write("both", "by files");
    expect((await use.sandbox.commands.run("cat both && printf 'by a command' > both")).stdout).toBe("by files");
    expect(await use.sandbox.files.read("both")).toBe("by a command");
  });

  test("a hundred megabytes up and down", async () => {
    const piece = Buffer.alloc(1024 * 1024, "0123456789abcdef");
    await use.sandbox.files.write("big", new Blob(Array.from({ length: 100 }, () => piece)));
    expect((await use.sandbox.files.getInfo("big")).size).toBe(104_857_600);
    let read = 0;
    for await (const part of await use.sandbox.files.read("big", { format: "stream" })) read += part.length;
    expect(read).toBe(104_857_600);
    await use.sandbox.files.remove("big");
  }, 120_000);
});

describeSdks(
  "files of newer SDKs",
  (use) => {
    test("a file goes both ways in less than its size", async () => {
      const text = "to be squeezed ".repeat(100_000);
      await use.sandbox.files.write("squeezed", text, { gzip: true });
      expect(await use.sandbox.files.read("squeezed", { gzip: true })).toBe(text);
      expect((await use.sandbox.files.getInfo("squeezed")).size).toBe(1_500_000);
    });

    test("a file is sent without a form", async () => {
      await use.sandbox.files.write("plain", new Blob(["no form"]), { useOctetStream: true });
      expect(await use.sandbox.files.read("plain")).toBe("no form");
    });
  },
  { by: (version) => version !== "2.14.1" },
);

describeSdks(
  "what files carry with them",
  (use) => {
    test("what is noted about a file is told with it, until it is written over", async () => {
      await use.sandbox.files.write("noted", "x", { metadata: { author: "me", purpose: "a test" } });
      expect((await use.sandbox.files.getInfo("noted")).metadata).toEqual({ author: "me", purpose: "a test" });
      await use.sandbox.files.write("noted", "y");
      expect((await use.sandbox.files.getInfo("noted")).metadata ?? {}).toEqual({});
    });

    test("a watch tells of the entry when it is asked to", async () => {
      await use.sandbox.files.makeDir("entries");
      const seen: FileEvent[] = [];
      const watch = await use.sandbox.files.watchDir("entries", (event) => void seen.push(event), { includeEntry: true });
      await use.sandbox.files.write("entries/file", "four");
      await eventually(() =>
        expect(seen).toContainEqual(
          expect.objectContaining({ name: "file", entry: expect.objectContaining({ path: "/home/user/entries/file" }) }),
        ),
      );
      await watch.stop();
    });
  },
  { by: (version) => version === "2.51.0" || version === "2.45.0" },
);

import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { mountRoot } from "./root-file-system.ts";
import type { Stage } from "./stage.ts";

test("what layers on top of the machine have as usr is mounted where it is a folder: a link would lead to files of the machine", () => {
  const top = mkdtempSync(join(tmpdir(), "agentbox-root-"));
  onTestFinished(() => rmSync(top, { recursive: true }));
  mkdirSync(join(top, "folder/usr"), { recursive: true });
  for (const name of ["link", "none", "secret"]) mkdirSync(join(top, name));
  symlinkSync(join(top, "secret"), join(top, "link/usr"));
  const overlays: (readonly string[])[] = [];
  const stage = {
    bindFolder: (folder: string) => folder,
    root: () => "root",
    overlay: (_: string, { lowers }: { readonly lowers: readonly string[] }) => {
      overlays.push(lowers);
      return "usr";
    },
  } as unknown as Stage;
  const layers = ["link", "folder", "none"].map((name) => join(top, name));
  mountRoot(stage, { image: { kind: "host", layers } as unknown as ResolvedImage, writable: join(top, "writable"), idMap: 3 });
  expect(overlays).toEqual([[join(top, "folder/usr"), "/usr"]]);
});

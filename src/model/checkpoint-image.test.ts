import { expect, test } from "vitest";
import { checkpointImage, checkpointIn, isCheckpointImage } from "./checkpoint-image.ts";

const id = "cp-aaaaaaaaaaaaaaaaaaaa";
const digest = `sha256:${"a".repeat(64)}`;

test("the image of a checkpoint is known by its name, on one machine and in the registry of an installation", () => {
  const names = [checkpointImage(id), `registry.example.com:5000/team/checkpoints/${id}`, `localhost:5000/${id}`, id];
  for (const name of names) {
    expect([name, `${name}:tag`, `${name}@${digest}`, `${name}:use-7@${digest}`].map(checkpointIn)).toEqual([id, id, id, id]);
  }
});

test.each(["", "python:3", `${id}/app:1`, `x/${id}x:1`, `x/my-${id}`, "x/cp-short", `x/app:${id}`])("%j is of no checkpoint", (image) => {
  expect([checkpointIn(image), isCheckpointImage(image)]).toEqual([undefined, false]);
});

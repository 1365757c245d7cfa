import { expect, test } from "vitest";
import { overlayOf } from "./overlay-mount.ts";

const id = "a".repeat(64);

function line(point: string, options: string, kind = "overlay"): string {
  return `512 40 0:77 / ${point} rw,relatime shared:210 - ${kind} overlay rw,${options}`;
}

test("the folders of a container are those of the overlay at its rootfs", () => {
  const text = [
    line(`/run/containerd/task/k8s.io/${"b".repeat(64)}/rootfs`, "lowerdir=/s/1/fs,upperdir=/s/2/fs,workdir=/s/2/work"),
    line(`/run/containerd/task/k8s.io/${id}/rootfs`, "lowerdir=/s/4/fs:/s/3/fs,upperdir=/s/9/fs,workdir=/s/9/work,nouserxattr"),
    "",
  ].join("\n");
  expect(overlayOf(text, id)).toEqual({
    merged: `/run/containerd/task/k8s.io/${id}/rootfs`,
    upper: "/s/9/fs",
    lower: ["/s/4/fs", "/s/3/fs"],
  });
});

test("layers that are named relative to their folder, one by one, or with blanks in their names are found", () => {
  const many = line(`/t/${id}/rootfs`, String.raw`lowerdir=4/fs:3/fs,upperdir=/with\040blank/snapshots/9/fs,workdir=9/work`);
  expect(overlayOf(many, id)).toMatchObject({ lower: ["/with blank/snapshots/4/fs", "/with blank/snapshots/3/fs"] });
  const single = line(`/t/${id}/rootfs`, "lowerdir+=/s/4/fs,lowerdir+=/s/3/fs,upperdir=/s/9/fs");
  expect(overlayOf(single, id)).toMatchObject({ upper: "/s/9/fs", lower: ["/s/4/fs", "/s/3/fs"] });
});

test.each([
  ["of another kind", line(`/t/${id}/rootfs`, "subvol=/x", "btrfs")],
  ["that nothing can be written to", line(`/t/${id}/rootfs`, "lowerdir=/s/4/fs:/s/3/fs")],
  ["of another container", line(`/t/${"c".repeat(64)}/rootfs`, "lowerdir=/s/4/fs,upperdir=/s/9/fs")],
])("a file system %s is none", (_, text) => {
  expect(overlayOf(text, id)).toBeUndefined();
});

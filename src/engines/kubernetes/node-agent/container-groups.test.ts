import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ContainerGroups } from "./container-groups.ts";

const uid = "0a1b2c3d-0000-4000-8000-000000000001";
const slice = uid.replaceAll("-", "_");
const id = "c".repeat(64);

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "agentbox-groups-"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test.each([
  ["cgroupfs", `kubepods/burstable/pod${uid}/${id}`],
  ["cgroupfs, of a guaranteed pod", `kubepods/pod${uid}/${id}`],
  ["cgroupfs, in a group of the kubelet's", `machine/kubepods/besteffort/pod${uid}/${id}`],
  ["systemd with containerd", `kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${slice}.slice/cri-containerd-${id}.scope`],
  ["systemd with CRI-O", `kubepods.slice/kubepods-pod${slice}.slice/crio-${id}.scope`],
  [
    "systemd, below a slice of the kubelet's",
    `kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod${slice}.slice/cri-containerd-${id}.scope`,
  ],
])("a container is found by its id: %s", (_, path) => {
  mkdirSync(join(top, path), { recursive: true });
  mkdirSync(join(top, "system.slice/other.service"), { recursive: true });
  expect(new ContainerGroups(top).find(uid, id)).toBe(join(top, path));
});

test.each([`crio-conmon-${id}.scope`, `crio-conmon-${id}`])("the program that watches a container is not taken for it: %s", (name) => {
  mkdirSync(join(top, `kubepods.slice/kubepods-pod${slice}.slice`, name), { recursive: true });
  expect(new ContainerGroups(top).find(uid, id)).toBeUndefined();
});

test("what is not there yet, or no longer, is not found; what comes later is", () => {
  const groups = new ContainerGroups(top);
  expect(groups.find(uid, id)).toBeUndefined();
  mkdirSync(join(top, `kubepods/burstable/pod${uid}`), { recursive: true });
  expect(groups.find(uid, id)).toBeUndefined();
  mkdirSync(join(top, `kubepods/burstable/pod${uid}/${id}`));
  expect(groups.find(uid, id)).toBe(join(top, `kubepods/burstable/pod${uid}/${id}`));
  rmSync(join(top, "kubepods"), { recursive: true });
  expect(groups.find(uid, id)).toBeUndefined();
});

import { expect, test } from "vitest";
import { mappedImage, readImageMap } from "./base-images.ts";

const map = readImageMap({
  data: { images: "e2bdev/base = host\n# a note\npython:3 = local/python:3.12\nubuntu host # all tags\nnothing\n" },
});

test("a name is mapped with its tag, or for all of its tags", () => {
  expect(mappedImage(map, "e2bdev/base")).toBe("host");
  expect(mappedImage(map, "e2bdev/base:latest")).toBe("host");
  expect(mappedImage(map, "python:3")).toBe("local/python:3.12");
  expect(mappedImage(map, "docker.io/library/python:3")).toBe("local/python:3.12");
  expect(mappedImage(map, "ubuntu:22.04")).toBe("host");
});

test("other names, and other tags, are what they are", () => {
  expect(mappedImage(map, "python:3.12")).toBe("python:3.12");
  expect(mappedImage(map, "registry.example:5000/ubuntu:22.04")).toBe("registry.example:5000/ubuntu:22.04");
});

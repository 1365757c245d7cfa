import { expect, test } from "vitest";
import { programOf } from "./own-program.ts";

const imageCommand = { entrypoint: ["/entry"], cmd: ["default"] };

test.each([
  ["what the pod gives", { given: ["/run", "x"], ofImage: false }, {}, ["/run", "x"]],
  ["what the pod gives, whatever the image says", { given: ["/run"], ofImage: false }, { imageCommand }, ["/run"]],
  ["the image's entrypoint and command", { given: [], ofImage: true }, { imageCommand }, ["/entry", "default"]],
  ["the image's entrypoint with the pod's arguments", { given: ["x"], ofImage: true }, { imageCommand }, ["/entry", "x"]],
  ["nothing, if the image's command is unknown: arguments alone are no command", { given: ["x"], ofImage: true }, {}, []],
  ["nothing, if nothing is wanted", { given: [], ofImage: false }, { imageCommand }, []],
])("a sandbox runs %s", (_, program, init, argv) => expect(programOf(program, init)).toEqual(argv));

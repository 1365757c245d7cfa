/**
 * Records in tools/kubernetes-shapes/openapi.json what the API server of our tests says of its kinds, and writes what is generated from it:
 * `make kubernetes-shapes`, after another version of Kubernetes was chosen in tools/kubernetes-bed/kubernetes/go.mod.
 */
import { writeFileSync } from "node:fs";
import { startKubernetes } from "../test/kubernetes/bed.ts";
import { adminRequests } from "../test/kubernetes/admin-requests.ts";
import { goFieldsOf } from "./kubernetes-shapes/from-go.ts";
import { schemasOfServer } from "./kubernetes-shapes/from-server.ts";
import { recordFile, recordText } from "./kubernetes-shapes/recorded-shapes.ts";

const bed = await startKubernetes();
try {
  const admin = adminRequests(bed);
  const read = async (path: string): Promise<unknown> => JSON.parse((await admin("GET", path)).text);
  const schemas = await schemasOfServer(read);
  const { gitVersion } = (await read("/version")) as { readonly gitVersion: string };
  writeFileSync(recordFile, recordText({ kubernetes: gitVersion, schemas, go: goFieldsOf(schemas) }));
  console.log(`${Object.keys(schemas).length} types of Kubernetes ${gitVersion} recorded`);
} finally {
  await bed.stop();
}
await import("./generate-kubernetes-shapes.ts");

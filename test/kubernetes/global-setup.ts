/** One bed for a whole vitest run; tests get at it with `inject("kubeconfig")` and `inject("kubernetes")`. */
import type { TestProject } from "vitest/node";
import { ownCrds } from "./admin-requests.ts";
import { startKubernetes } from "./bed.ts";
import type { Certificate } from "./certificates.ts";

export interface ProvidedBed {
  readonly url: string;
  readonly token: string;
  readonly ca: string;
  /** Folder of kubectl. */
  readonly bin: string;
  /** Of the user `by-certificate` in system:masters. */
  readonly clientCertificate: Certificate;
}

declare module "vitest" {
  export interface ProvidedContext {
    /** Path of the file. */
    kubeconfig: string;
    kubernetes: ProvidedBed;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bed = await startKubernetes({ crds: ownCrds() });
  const { url, token, ca, bin } = bed;
  project.provide("kubeconfig", bed.kubeconfig);
  const clientCertificate = bed.clientCertificate({ commonName: "by-certificate", organizations: ["system:masters"] });
  project.provide("kubernetes", { url, token, ca, bin, clientCertificate });
  return () => bed.stop();
}

/**
 * Templates and pools are checked whole before they are sent to a cluster: its server does not know that there are pods in them, and would
 * refuse those one by one, later. The rules, and the words, are those of the embedded engine, which are held to a real server's.
 */
import { hasSameSpec, podTemplateCauses } from "#engines/embedded/admission/pod-template-rules.ts";
import { invalid } from "#engines/embedded/store/refusals.ts";
import type { CheckPodTemplate } from "#services/templates/check-pod-template.ts";

export const checkPodTemplate: CheckPodTemplate = (type, next, present) => {
  if (present !== undefined && hasSameSpec(next, present)) return;
  const causes = podTemplateCauses(next);
  if (causes.length > 0) throw invalid(type, next.metadata.name ?? "", causes);
};

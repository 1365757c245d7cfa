{{/* What no schema can say: values that make no sense together. */}}
{{- define "agentbox.checks" -}}
{{- $database := .Values.database -}}
{{- $hasDatabase := or $database.url $database.existingSecret -}}
{{- if and $database.url $database.existingSecret -}}
{{- fail "database.url and database.existingSecret are both set: give one of them" -}}
{{- end -}}
{{- /* Not in the schema, whose complaints repeat the value. */ -}}
{{- if and $database.url (not (regexMatch "^postgres(ql)?://." $database.url)) -}}
{{- fail "database.url must begin with postgres:// (its value is not shown here)" -}}
{{- end -}}
{{- if not (or $hasDatabase .Values.singlePod.enabled) -}}
{{- fail (printf "there is no database, and replicas.api is %d: several processes cannot share a history in SQLite. Set database.existingSecret (a Secret with the URL of a PostgreSQL database under the key %q) or database.url; or, for a trial, singlePod.enabled=true" (int .Values.replicas.api) $database.key) -}}
{{- end -}}
{{- if and .Values.singlePod.enabled $hasDatabase -}}
{{- fail "singlePod.enabled is for a trial without a database, and a database is set: leave out one of them" -}}
{{- end -}}
{{- /* Three seconds of handing over, ten for creates that wait, five for answers under way, two to end. */ -}}
{{- if lt (int .Values.termination.api) (add 20 .Values.termination.preStopSleep | int) -}}
{{- fail "termination.api must be at least 20 s longer than termination.preStopSleep, or nothing is left for answers under way" -}}
{{- end -}}
{{- if lt (int .Values.termination.gateway) (add 10 .Values.termination.preStopSleep | int) -}}
{{- fail "termination.gateway must be at least 10 s longer than termination.preStopSleep, or nothing is left for open streams" -}}
{{- end -}}
{{- if and .Values.checkpoints.repository (not .Values.nodeAgent.enabled) -}}
{{- fail "checkpoints.repository is set, and nodeAgent.enabled is not: checkpoints are taken by the agents of nodes" -}}
{{- end -}}
{{- if and .Values.checkpoints.pushSecret (not .Values.checkpoints.repository) -}}
{{- fail "checkpoints.pushSecret is of no use without checkpoints.repository" -}}
{{- end -}}
{{- if and .Values.sandboxes.onlyNamespace .Values.sandboxes.extraNamespaces -}}
{{- fail (printf "sandboxes.onlyNamespace means pools of %q and no others, and sandboxes.extraNamespaces names more: leave out one of them" .Values.sandboxes.namespace) -}}
{{- end -}}
{{- if has .Release.Namespace (include "agentbox.sandboxNamespaces" . | fromJsonArray) -}}
{{- fail (printf "sandboxes.namespace and sandboxes.extraNamespaces must not name %q, where AgentBox itself is: its keys are there. Install it into a namespace of its own (helm install --namespace agentbox --create-namespace …)" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

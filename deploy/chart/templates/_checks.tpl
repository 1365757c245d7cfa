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
{{- if le (int .Values.termination.api) (int .Values.termination.preStopSleep) -}}
{{- fail "termination.api must be longer than termination.preStopSleep, or nothing is left for answers under way" -}}
{{- end -}}
{{- if le (int .Values.termination.gateway) (int .Values.termination.preStopSleep) -}}
{{- fail "termination.gateway must be longer than termination.preStopSleep, or nothing is left for open streams" -}}
{{- end -}}
{{- if has .Release.Namespace (include "agentbox.sandboxNamespaces" . | fromJsonArray) -}}
{{- fail (printf "sandboxes.namespace and sandboxes.extraNamespaces must not name %q, where AgentBox itself is: its keys are there. Install it into a namespace of its own (helm install --namespace agentbox --create-namespace …)" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

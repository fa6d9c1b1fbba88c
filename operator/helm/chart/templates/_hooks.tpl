{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* Pods of the operator's image that run once, as hooks of Helm. */ -}}

{{- /* hook: the annotations of an object of the hook .event; its order is .weight. */ -}}
{{- define "placement.hook" -}}
helm.sh/hook: {{ .event }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* hookPod: sets .state.pod to the pod of the operator's Deployment in .state.objects, with the arguments .args and
the ServiceAccount .name. .root is as in the templates of the chart. */ -}}
{{- define "placement.hookPod" -}}
{{- $in := . -}}
{{- range .state.objects -}}
  {{- if and (eq .kind "Deployment") (eq .metadata.name $in.root.Chart.Name) -}}
    {{- $_ := set $in.state "pod" .spec.template.spec -}}
  {{- end -}}
{{- end -}}
{{- $container := first .state.pod.containers -}}
{{- range $key := list "ports" "readinessProbe" "livenessProbe" "env" -}}
  {{- $_ := unset $container $key -}}
{{- end -}}
{{- $_ := set $container "args" .args -}}
{{- $_ := set .state.pod "serviceAccountName" .name -}}
{{- $_ := set .state.pod "restartPolicy" "Never" -}}
{{- $_ := unset .state.pod "topologySpreadConstraints" -}}
{{- end -}}

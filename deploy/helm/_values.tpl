{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /*
build_chart.py writes _manifests.tpl: "placement.manifests" gives all objects of the manifests, with the value
`components`, the release's namespace and the images. Templates cannot return objects, so those here change the dict
that they get.
*/ -}}

{{- /* objects: appends all objects to .state.objects, with the values of .root. */ -}}
{{- define "placement.objects" -}}
{{- $in := . -}}
{{- range splitList "\n---\n" (include "placement.manifests" .root) -}}
  {{- $object := fromYaml . -}}
  {{- if $object.Error -}}{{- fail $object.Error -}}{{- end -}}
  {{- if and (eq $object.kind "Deployment") (eq $object.metadata.name $in.root.Chart.Name) -}}
    {{- include "placement.values" (dict "root" $in.root "object" $object) -}}
  {{- else if eq $object.kind "PrometheusRule" -}}
    {{- include "placement.runbooks" (dict "root" $in.root "object" $object) -}}
  {{- else if eq $object.kind "CustomResourceDefinition" -}}
    {{- include "placement.keep" (dict "object" $object) -}}
  {{- end -}}
  {{- $_ := set $in.state "objects" (append $in.state.objects $object) -}}
{{- end -}}
{{- end -}}

{{- /* values: sets replicas, resources and args of .object, the Deployment that has the name of the chart. */ -}}
{{- define "placement.values" -}}
{{- $spec := .object.spec -}}
{{- $container := first $spec.template.spec.containers -}}
{{- with .root.Values.replicas -}}{{- $_ := set $spec "replicas" . -}}{{- end -}}
{{- with .root.Values.resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- $_ := set $container "args" (concat $container.args .root.Values.args) -}}
{{- end -}}

{{- /* runbooks: sets the address of the repository in the links of the alerts in .object. */ -}}
{{- define "placement.runbooks" -}}
{{- with .root.Values.repository -}}
{{- $repository := . -}}
{{- range $.object.spec.groups -}}
{{- range .rules -}}
{{- $_ := set .annotations "runbook_url" (printf "%s/docs/runbooks/%s.md" $repository .alert) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* image: the reference of the image of .program. */ -}}
{{- define "placement.image" -}}
{{- $where := ternary "nodes" "registry" (eq .root.Values.registry "localhost") -}}
{{- $image := get (get (fromYaml (.root.Files.Get "images.yaml")) $where) .program -}}
{{- get .root.Values.images .program | default (printf "%s/%s" .root.Values.registry $image) -}}
{{- end -}}

{{- /* keep: says in .object, a CustomResourceDefinition, that `helm uninstall` keeps it: its deletion would delete the
objects of all users. */ -}}
{{- define "placement.keep" -}}
{{- $keep := dict "helm.sh/resource-policy" "keep" -}}
{{- $annotations := merge $keep (.object.metadata.annotations | default dict) -}}
{{- $_ := set .object.metadata "annotations" $annotations -}}
{{- end -}}

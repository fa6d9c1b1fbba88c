{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* The chart has operator/manifests, api/crds and scheduling-policies/crds. _manifests.tpl reads them. */ -}}

{{- /* objects: sets .state.objects to all objects, with the values but the namespace and images. */ -}}
{{- define "placement.objects" -}}
{{- $in := . -}}
{{- include "placement.add" (merge (dict "folder" "operator/manifests/base") .) -}}
{{- range $name, $enabled := .root.Values.components -}}
  {{- if $enabled -}}
    {{- $folder := printf "operator/manifests/components/%s" $name -}}
    {{- include "placement.add" (dict "root" $in.root "state" $in.state "folder" $folder) -}}
  {{- end -}}
{{- end -}}
{{- range $object := .state.objects -}}
  {{- if eq $object.kind "Deployment" -}}
    {{- include "placement.values" (dict "root" $in.root "object" $object) -}}
  {{- end -}}
  {{- if eq $object.kind "CustomResourceDefinition" -}}
    {{- include "placement.keep" (dict "object" $object) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* text: .object as YAML, with the release's namespace and the images. */ -}}
{{- define "placement.text" -}}
{{- $root := .root -}}
{{- $text := printf "%s\n" (toYaml .object) -}}
{{- $text = $text | replace "openshift-multiarch-tuning-operator" $root.Release.Namespace -}}
{{- range $program := list "operator" "webhook" "shard" "cluster-controller" -}}
  {{- $image := include "placement.image" (dict "root" $root "program" $program) -}}
  {{- $old := printf "localhost/pod-placement/%s\n" $program -}}
  {{- $text = $text | replace $old (printf "%s\n" $image) -}}
{{- end -}}
{{- trim $text -}}
{{- end -}}

{{- /* hook: the annotations of an object of the hook before `helm uninstall`; its order. */ -}}
{{- define "placement.hook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
